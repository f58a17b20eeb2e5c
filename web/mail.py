"""``/dm/api/v3/mail``: what customers have not got yet, and a test of the mail server."""

from __future__ import annotations

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.changes import Action, Area
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.devices.driver import BadSettings
from dmtwisted.mail.service import Waiting
from dmtwisted.outbox import Later, Never
from dmtwisted.registers.customers import mail_address
from dmtwisted.results import Text
from dmtwisted.wording import wording
from web.answers import json_answer, language_of, not_found
from web.management import OneAtATime, answer_errors, lasting, read_object

TESTING = Text("пробний лист уже надсилається", "a test mail is already on its way")


class LetterRecord(msgspec.Struct):
    """A receipt that has not reached its customer; `to` is masked, `kind` is `mail` or `phone`.

    A dead one is not tried again by itself; `next` is when one that waits is tried. `why` is the last failure.
    """

    id: int
    kind: str
    device: str
    fiscal_number: str
    to: str
    dt: str
    attempts: int
    dead: bool
    next: str
    why: str


class LetterList(msgspec.Struct):
    """The oldest thousand dead letters, and the oldest thousand that wait."""

    letters: list[LetterRecord]


class TestMail(msgspec.Struct):
    """Who gets a test mail."""

    to: str


class MailTested(msgspec.Struct):
    """Whether the mail server took the test mail, and if not, why."""

    sent: bool
    why: str


async def letters_of(core: Core, language: str) -> list[LetterRecord]:
    """The letters of a service, dead ones first."""
    names = {device.row.n: device.name for device in core.devices}
    return [
        _record(one, names.get(one.row.device_n, ""), language)
        for dead in (True, False)
        for one in await core.post.waiting(dead)
    ]


def _record(one: Waiting, device: str, language: str) -> LetterRecord:
    row = one.row
    return LetterRecord(
        id=row.n,
        kind=row.kind,
        device=device,
        fiscal_number=one.fiscal_number,
        to=one.to,
        dt=stamp17(one.at),
        attempts=row.attempts,
        dead=row.dead,
        next="" if row.dead else stamp17(row.due),
        why=wording(row.why).for_language(language),
    )


class MailApi:
    """What customers have not got yet."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language
        self._testing = OneAtATime(TESTING)

    @app.route("/dm/api/v3/mail", methods=["GET"])
    async def letters(self, request: IRequest) -> bytes:
        """Receipts that have not reached their customers yet, those that are not tried any more first."""
        found = await letters_of(self._core, language_of(request, self.default_language))
        return json_answer(request, 200, LetterList(found))

    @app.route("/dm/api/v3/mail/<int:n>/retry", methods=["POST"])
    async def retry(self, request: IRequest, n: int) -> bytes:
        """Try a letter again now."""
        if not await lasting(self._core.post.again(n)):
            return not_found(request, self.default_language)
        self._core.outbox.posted()
        return await self.letters(request)

    @app.route("/dm/api/v3/mail/<int:n>", methods=["DELETE"])
    async def remove(self, request: IRequest, n: int) -> bytes:
        """Remove a letter: the customer gets nothing."""
        post = self._core.post
        letter = await post.find(n)
        if letter is None:
            return not_found(request, self.default_language)
        await self._core.changes.keep(Area.MAIL, Action.DELETED, subject=letter.fiscal_number)
        await lasting(post.remove(n))
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/mail/test", methods=["POST"])
    async def test(self, request: IRequest) -> bytes:
        """Send a test mail with the settings as they are stored, and wait for the mail server's answer."""
        to = mail_address(read_object(request, TestMail).to.strip())
        if not to:
            raise BadSettings("to", "an e-mail address is expected")
        why = ""
        with self._testing:
            try:
                await lasting(self._core.post.test(to))
            except (Later, Never) as error:
                why = wording(error).for_language(language_of(request, self.default_language))
        return json_answer(request, 200, MailTested(not why, why))
