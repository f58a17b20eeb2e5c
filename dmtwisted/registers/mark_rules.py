"""The rules of the settings `marks_*`: which excise marks a register sells, and what it says of them in the store.

With a check on, a mark is reserved with the intent of its sale and sold with the outcome; a refusal, a return and a
storno free it (`dmtwisted.store.values.MarkStep`). So one mark is in two receipts of this service only by settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dmtwisted.answers import Warning
from dmtwisted.clock import readable
from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Good
from dmtwisted.registers.marks import LETTERS, Sold, encode, marks_of, position_of, sells, shown
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Letter, LetterRow, MarkMove, MarkRow, Marks, MarkStep

TWICE = Text("вона стоїть у чеку двічі", "it is in the receipt twice")


class IMarks(Protocol):
    """A service that knows whether a mark may be sold, and is told when it was."""

    async def check(self, document: Document, marks: list[str], language: str) -> list[Warning]:
        """Ask for the marks of a sale.

        :returns: warnings of what the settings let pass.
        :raises Refused: 2101 when one may not be sold, 2103 when that cannot be known.
        """

    async def tell(self, letter: LetterRow) -> None:
        """Tell a letter of `MarkRules.letters`: see `dmtwisted.outbox.Send`."""


def service_of(settings: RegisterSettings, around: Surroundings) -> IMarks | None:
    """The marks service that the settings name, if any."""
    if settings.marks_check != "service":
        return None
    # HTTP and TLS are loaded with the first register that asks such a service.
    from dmtwisted.registers.marks_service import HttpMarks, to_service

    return HttpMarks(settings, around.clock, to_service(around.reactor))


class MarkRules:
    """The rules of one register's settings, and what they make of a document in the store."""

    def __init__(self, settings: RegisterSettings) -> None:
        self._settings = settings

    def check(self, document: Document, offline: bool, language: str) -> list[Warning]:
        """See what can be seen without the store.

        :returns: warnings of what the settings let pass.
        :raises Refused: 2101 for a mark that is in the receipt twice, 2102 for fewer marks than units, 2103 offline.
        """
        settings, receipt = self._settings, document.receipt
        if receipt is None or document.kind != documents.SALE or not marks_of(document):
            return []
        if offline and settings.marks_offline == "refuse":
            raise Refused(Res.MARKS_UNCHECKED, Text("каса працює офлайн", "the register is offline"))
        if settings.marks_check != "off" and not settings.marks_repeat:
            self._once(receipt.goods)
        if settings.marks_count == "off":
            return []
        return [
            self._missing(position, good, language) for position, good in enumerate(receipt.goods, 1) if _lacks(good)
        ]

    def _once(self, goods: Sequence[Good]) -> None:
        seen: set[str] = set()
        for position, good in enumerate(goods, 1):
            # A till may name the same mark in both members.
            named = [mark for mark in good.code_aa if mark.strip(" ")]
            if good.code_a.strip(" ") and good.code_a not in named:
                named.append(good.code_a)
            for mark in named:
                if mark in seen:
                    raise Refused(Res.MARK_REFUSED, position, shown(mark), TWICE)
                seen.add(mark)

    def _missing(self, position: int, good: Good, language: str) -> Warning:
        refused = Refused(Res.MARKS_MISSING, position, len(good.marks), good.cnt // 1000)
        if self._settings.marks_count == "refuse":
            raise refused
        return Warning.by(refused, language)

    def reserved(self, document: Document, heir_of: int = 0) -> Marks | None:
        """The marks that the intent of ``document`` reserves.

        :param heir_of: the operation that the document is made again for; its marks are held already.
        """
        if not (heir_of or self._settings.marks_check != "off") or not sells(document):
            return None
        return Marks(marks, self._settings.marks_repeat, heir_of) if (marks := marks_of(document)) else None

    async def see(self, store: IStore, document: Document) -> None:
        """See that no other receipt holds a mark, before something else is done for the sale.

        :raises Refused: 2101 when one does.
        """
        reserving = self.reserved(document)
        if reserving is not None and not reserving.shared and (rows := await store.find_marks(reserving.marks)):
            raise await taken(store, document, rows[0])

    def moved(self, document: Document, again: bool = False) -> MarkMove | None:
        """What becomes of marks when ``document`` is accepted.

        :param again: whether it was believed not to be, so that its marks may not be reserved any more.
        """
        found = marks_of(document)
        if not found:
            return None
        if sells(document):
            lost = found if again else []
            return MarkMove(MarkStep.SPEND, lost, self._settings.marks_repeat, document.number, document.at)
        if document.kind == documents.RETURN:
            return MarkMove(MarkStep.FREE, found)
        if document.reverses is not None and document.reverses.kind == documents.SALE:
            return MarkMove(MarkStep.TAKE_BACK, found, number=document.reverses.number)
        return None

    def letters(self, document: Document, device_n: int, now: int) -> list[Letter]:
        """What the marks service is told of a sale that is fiscal."""
        if self._settings.marks_check != "service" or document.kind != documents.SALE:
            return []
        fisid = document.header.fisid
        told = (Sold(mark, fisid, f"{document.number}/{fisid[-6:]}", document.at) for mark in marks_of(document))
        return [Letter(LETTERS, device_n, now, encode(one)) for one in told]


def _lacks(good: Good) -> bool:
    """Whether a row of whole units has fewer marks than units; a cocktail may have more."""
    return bool(good.marks) and good.cnt % 1000 == 0 and len(good.marks) < good.cnt // 1000


async def taken(store: IStore, document: Document, row: MarkRow) -> Refused:
    """Why ``document`` cannot sell the mark of ``row``: the receipt that holds it."""
    named = {device.n: device.name for device in await store.devices()}
    register = named.get(row.device_n, f"№{row.device_n}")
    number = row.fiscal_number or f"ВН {row.number}"
    when = readable(row.at)
    if row.state == "sold":
        why = Text(
            f"вже продано, чек {number} ({row.number}) від {when}, каса {register}",
            f"sold already, receipt {number} ({row.number}) of {when}, register {register}",
        )
    else:
        why = Text(
            f"її тримає чек {row.number} від {when}, каса {register}, про який ще не відомо, чи його прийнято",
            f"receipt {row.number} of {when}, register {register}, holds it, and may have been accepted",
        )
    return Refused(Res.MARK_REFUSED, position_of(document, row.mark), shown(row.mark), why)
