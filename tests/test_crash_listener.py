"""What the labs make of the events that come to their subscriber."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.crash.listener import Document, Listener
from dmtwisted.lab.receiver import Got
from protocols.webhooks import headers, written

SECRET = written(b"k" * 32)
DOCUMENTS: list[Document] = [("till", 2, "F2"), ("till", 3, "F3"), ("other", 2, "G2")]


def told(id: str, document: Document, secret: str = SECRET) -> Got:
    """The event of a document, as it comes."""
    register, number, fiscal_number = document
    data = {"tag": f"tag {number}", "documents": [{"number": number, "fiscal_number": fiscal_number}]}
    body = json.dumps({"id": id, "device": {"name": register}, "data": data}).encode()
    return Got("/", headers([secret], id, 1_700_000_000, body), body)


class ListenerTests(SynchronousTestCase):
    """A subscriber of two registers."""

    def judged(self, *came: Got, answered: bool = True) -> str:
        """What is found when these came."""
        listener = Listener()
        self.addCleanup(listener.stop)
        listener.secret = SECRET
        if not answered:
            listener.away.set()
        for got in came:
            listener._came(got)
            listener.hear(got)
        return str(listener.judge(DOCUMENTS))

    def test_good(self) -> None:
        """Each document is told, in the order of its register, one by an event that came again."""
        first, second, third = (told(f"{n}-00", document) for n, document in enumerate(DOCUMENTS, 8))
        self.assertEqual(self.judged(first, third, second, first), "lost 0, doubled 0, gaps 0")

    def test_lost(self) -> None:
        """A document of which nothing came is lost, and so is one whose event was not taken."""
        came = [told(f"{n}-00", document) for n, document in enumerate(DOCUMENTS, 8)]
        self.assertEqual(self.judged(*came[1:]), "lost 1, doubled 0, gaps 0")
        self.assertEqual(self.judged(*came, answered=False), "lost 3, doubled 0, gaps 0")

    def test_wrong(self) -> None:
        """Two events of one document, a wrong order and a wrong signature are found."""
        first, second, third = (told(f"{n}-00", document) for n, document in enumerate(DOCUMENTS, 8))
        self.assertEqual(self.judged(first, second, third, told("12-00", DOCUMENTS[0])), "lost 0, doubled 1, gaps 0")
        self.assertEqual(self.judged(second, first, third), "lost 0, doubled 0, gaps 0, otherwise wrong 1")
        forged = told("10-00", DOCUMENTS[2], written(b"x" * 32))
        self.assertEqual(self.judged(first, second, forged), "lost 0, doubled 0, gaps 0, otherwise wrong 1")
