"""Numbers for documents made offline, which protocol B hands out in advance (docs/reference/tax-cabinet.md#offline).

They are asked for by a document, in an operation of its own. If its answer is lost, the tax service is asked what
became of it, as of any document; the numbers are not lost, for the next question returns those that are unused.
"""

from __future__ import annotations

from twisted.logger import Logger

from dmtwisted.documents import documents
from dmtwisted.registers.bookkeeping import UNTAGGED, Books
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused


class Reserving:
    """Keeps the stock of offline numbers of one register."""

    log = Logger()

    def __init__(self, books: Books, drafting: Drafting, settings: RegisterSettings) -> None:
        self._books, self._drafting, self._settings = books, drafting, settings

    @property
    def short(self) -> bool:
        """Whether numbers should be asked for now: fewer than half of the stock are left, and the register may go
        offline.

        Only in a shift: after its Z the register stays as the Z has left it, so that another program can go on.
        """
        books = self._books
        state = books.state
        calm = books.settled and state.shift_open and state.offline is None and state.local is not None
        return calm and self._settings.offline_allowed and 2 * state.offline_numbers_left < books.channel.reserves

    async def fill(self, language: str) -> None:
        """Ask for numbers, if they are `short`; whatever stands in the way is logged, and it is tried again later.

        :raises Refused: when it is not known whether the tax service has the document.
        """
        if not self.short:
            return
        books, before = self._books, self._books.state.offline_numbers_left
        question = self._drafting.numbers(books.state)
        try:
            submission = await books.prepare(question)
            await books.fiscalise([submission], UNTAGGED, f"{documents.NUMBERS} {question.number}", b"", language)
        except Refused as refused:
            self.log.warn("{device} gets no offline numbers: {why}", device=books.name, why=refused.words().en)
            if not books.settled:
                raise
            return
        left = books.state.offline_numbers_left
        self.log.info("{device}: {before} offline numbers, now {left}", device=books.name, left=left, before=before)
