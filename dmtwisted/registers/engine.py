"""The software register: documents out of requests, made once, numbered without gap, never done twice.

What is stored when, and what a lost answer leaves behind, is the matter of its books (`bookkeeping`). Here is what
the rooms above ask of it: its tasks, and its way offline and back.
"""

from __future__ import annotations

import hashlib

import msgspec
from zope.interface import implementer

from dmtwisted.answers import Answer, Warning, amount, render, repeated
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Header, Receipt
from dmtwisted.registers import totals
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED, Books, Paper, says_else
from dmtwisted.registers.channels.interface import Away, IFiscalChannel
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.handing_in import HandingIn
from dmtwisted.registers.interface import NUMBER, STATUS, STORNO, TAGGED, Done, IRegister
from dmtwisted.registers.local import LocalTasks
from dmtwisted.registers.lost_online import Revocation, begin_key, revocable
from dmtwisted.registers.paper import DocumentPaper, with_forms
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import BY_ITSELF, RegisterState
from dmtwisted.requests import FiscalRequest, ReceiptRequest, TaskRequest, malformed
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.restored import read_mark
from dmtwisted.store.values import DocumentQuery, OperationRow

_fingerprint = msgspec.msgpack.Encoder().encode


@implementer(IRegister)
class SoftwareRegister(Books):
    """A register that is ours from the first sum to the last total; a channel takes its documents."""

    def __init__(
        self,
        device_n: int,
        name: str,
        fisid: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
    ) -> None:
        super().__init__(device_n, name, settings, store, channel, clock)
        self._header = Header(
            fisid=fisid,
            name=settings.name,
            shopname=settings.shopname,
            shopad=settings.shopad,
            vat_code=settings.vat_code,
            fis_code=settings.fis_code,
            lines_up=settings.header,
            lines_down=settings.footer,
        )
        self._drafting = Drafting(name, settings, self._header, channel.dtype, channel.desk, clock)
        self._local = LocalTasks(device_n, self._header, channel.dtype, store, clock)
        self._handing_in = HandingIn(device_n, store, channel)
        self._home_error = ""
        self._revokes = False
        """Whether it goes offline though a document may have arrived, which is made again then."""

    # What the rooms above ask

    async def perform(self, request: TaskRequest, language: str) -> Done:
        """Do one task: see `IRegister`."""
        done = await self._perform(request, language)
        return await with_forms(done, request.forms, self._settings, language, self._clock)

    async def look_up(self, request: TaskRequest) -> Done:
        """The stored answer of a tag: see `IRegister`."""
        await self._settled()
        known = await self._known(request.tag)
        if known is None:
            raise Refused(Res.TAG_NOT_FOUND)
        done = self._again(known, repeated(known.answer))
        return await with_forms(done, request.forms, self._settings, "uk", self._clock)

    async def _perform(self, request: TaskRequest, language: str) -> Done:
        fiscal = request.fiscal
        if fiscal is None or fiscal.task is None:
            return await self._nameless(request)
        if fiscal.task in TAGGED or fiscal.task == STORNO:
            return await self._fiscalise(request, fiscal, language)
        if fiscal.task not in self._local:
            raise Refused(Res.UNKNOWN_FISCAL_TASK, fiscal.task)
        warnings = await self._resolve_for_reading(fiscal.task, language)
        info, form = await self._local.perform(request, fiscal, self._state)
        answer = render(
            Answer(
                source=request.source,
                device=request.device,
                tag=request.tag,
                task_status=1,
                type=request.type,
                task=request.task,
                dt=stamp17(self._clock.now()),
                warnings=warnings + self._warnings(language),
                info=info,
            )
        )
        return Done(answer, None if form is None else lambda: form)

    async def rehearse(self, request: TaskRequest) -> Receipt:
        """The receipt that a sale or return would make: see `IRegister`."""
        await self._settled()
        draft = self._drafting.draft(request, self._state, self._sold)
        assert draft.receipt is not None
        return draft.receipt

    def owed(self, asked: ReceiptRequest) -> int:
        """What a receipt without its payments comes to: see `IRegister`."""
        return self._drafting.owed(asked)

    async def check_change(self, settings: msgspec.Struct) -> None:
        """See that the settings may become ``settings`` now.

        :raises Refused: 1100 when batch mode would change during a shift (http-api 5).
        """
        assert isinstance(settings, RegisterSettings)
        stored = self._stored or await self._store.register_state(self._n)
        if settings.batch != self._settings.batch and stored and totals.decode(stored).shift_open:
            raise Refused(Res.SHIFT_MUST_BE_CLOSED)

    async def resolve(self) -> None:
        """Ask after every document whose outcome is unknown: see `IRegister`."""
        await self._settle(None, b"")

    async def check(self) -> None:
        """Try the way to the far end: see `IRegister`."""
        await self._channel.check()

    async def state(self) -> dict[str, object]:
        """How the register stands: see `IRegister`."""
        stored = self._stored or await self._store.register_state(self._n)
        state = totals.decode(stored) if stored else RegisterState()
        return {
            "fisid": self._header.fisid,
            "dtype": self._channel.dtype,
            "shift_status": int(state.shift_open),
            "shift": state.shift,
            "opened_at": state.opened_at,
            "online_status": int(state.offline is not None),
            "offline_since": state.offline.since if state.offline is not None else 0,
            "offline_by_itself": state.offline is not None and state.offline.by_itself,
            "offline_numbers": state.offline_numbers_left,
            "offline_month_min": _month_spent(state, self._clock.now()) // 60_000,
            "offline_error": self._home_error if state.offline is not None else "",
            "collision": self._stored is None and bool(await self._unresolved()),
            "safe": amount(state.safe),
            "docno": state.last.number,
        }

    def close(self) -> None:
        """A software register holds nothing; its channel's far end is closed by the driver."""

    # Tasks without a document

    async def _nameless(self, request: TaskRequest) -> Done:
        """A body without ``fiscal.task``: a look-up when the tag is known, else incomplete."""
        await self._settled()
        known = await self._known(request.tag)
        if known is not None:
            return self._again(known, repeated(known.answer))
        if request.fiscal is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal")
        raise malformed("fiscal.task", "a task number is expected")

    async def _resolve_for_reading(self, task: int, language: str) -> list[Warning]:
        """Status and number are told even while a collision cannot be repaired; then with a warning."""
        try:
            await self.resolve()
        except Refused as refused:
            if task not in (STATUS, NUMBER) or refused.res not in OPEN_COLLISIONS:
                raise
            return [Warning.of(refused.res, language)]
        return []

    # Tasks that make documents

    async def _fiscalise(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> Done:
        fingerprint = hashlib.blake2b(_fingerprint(fiscal), digest_size=16).digest()
        await self._settled(request, fingerprint)
        try:
            return await self._made(request, fiscal, fingerprint, language)
        except Refused as refused:
            if not await self._mended(refused, language):
                raise
        await self._settled(request, fingerprint)
        return await self._made(request, fiscal, fingerprint, language)

    async def _made(self, request: TaskRequest, fiscal: FiscalRequest, fingerprint: bytes, language: str) -> Done:
        """The task done now, or what its tag has already."""
        try:
            if fiscal.task == STORNO:
                draft = self._drafting.storno(request, self._state, await self._last_document())
            else:
                draft = self._drafting.draft(request, self._state, self._sold)
            papers = await self._papers(request, draft)
        except Refused:
            # A tag that is known is answered whatever the rest of the request says (http-api 2.20).
            known = await self._known(request.tag) if fiscal.task in TAGGED else None
            if known is None:
                raise
            return self._repeat(known, request, fingerprint, language)
        # A storno carries no tag: what it takes back is its key, so it cannot be done twice either.
        kind, key = (
            (KIND, request.tag) if fiscal.task in TAGGED else (UNTAGGED, f"storno of {self._state.last.number}")
        )
        done = await self._do(papers, kind, key, fingerprint, language)
        if isinstance(done, OperationRow):
            return self._repeat(done, request, fingerprint, language)
        return self._done(done, draft, papers[0].fiscal_number)

    async def _mended(self, refused: Refused, language: str) -> bool:
        """Whether what stood in the way of a document, which was certainly not taken, is out of the way now."""
        if self._stored is None or self._state.offline is not None:
            return False
        if refused.res is Res.TAX_SERVICE_WRONG_HASH:
            return await self._late_arrival(refused)
        # What may have left has to be asked after first; nothing is made a second time under another number.
        return isinstance(refused, Away) and await self._go_by_itself(refused, language)

    async def _papers(self, request: TaskRequest, draft: Document) -> list[Paper]:
        """``draft`` ready for the wire, after a Z with the closing of the shift."""
        papers = [await self._paper(draft)]
        if draft.kind == documents.Z:
            papers.append(await self._paper(self._drafting.closing(request, self._with(papers[0]))))
        return papers

    async def _last_document(self) -> Document | None:
        found = await self._store.find_documents(
            DocumentQuery(devices=[self._n], number=self._state.last_receipt, limit=1)
        )
        return documents.decode(found.documents[0].value) if found.documents else None

    # What is known already

    async def _known(self, tag: str) -> OperationRow | None:
        return await self._store.find(self._n, KIND, tag) if tag else None

    def _repeat(self, known: OperationRow, request: TaskRequest, fingerprint: bytes, language: str) -> Done:
        """The earlier answer; with a warning when the request says something else than the earlier one."""
        warning = None
        if says_else(known, request, fingerprint):
            if self._settings.strict_tags:
                raise Refused(Res.TAG_KNOWN)
            warning = Warning.of(Res.TAG_KNOWN, language)
        return self._again(known, repeated(known.answer, warning))

    def _again(self, known: OperationRow, answer: bytes) -> Done:
        """The ``answer`` of a task that was done before, with the paper that belongs to it."""
        row = known.documents[0]
        return self._done(answer, documents.decode(row.value), row.fiscal_number)

    # Offline and back

    async def go_offline(self, language: str) -> None:
        """Number documents ourselves from now on: see `IRegister`."""
        await self.resolve()
        await self._begin_offline("", language)

    async def go_online(self, language: str) -> None:
        """Hand in what was made offline: see `IRegister`."""
        was_offline = self._state.offline is not None
        await self.resolve()
        if was_offline and self._state.offline is None:
            # The end that was asked for before had arrived.
            raise Refused(Res.ONLINE_REQUEST_IMPOSSIBLE)
        end = self._drafting.offline_end(self._state)
        assert self._state.offline is not None and self._state.session is not None
        while await self._handing_in.package(self._state.offline, self._state.session):
            pass
        await self._do([await self._paper(end)], UNTAGGED, f"{end.kind} {end.number}", b"", language)
        reached("offline.ended")
        self._home_error = ""

    async def _begin_offline(self, source: str, language: str, lost: OperationRow | None = None) -> None:
        """Begin a session.

        :param lost: an operation whose document may have arrived; the session is to make it again.
        """
        begin = self._drafting.offline_begin(self._state, self._channel.key_days_left(), source)
        paper = await self._paper(begin)
        if lost is not None:
            assert begin.offline is not None
            mark = msgspec.structs.replace(begin.offline, revokes=True)
            revoking = await self._channel.prepare(msgspec.structs.replace(begin, offline=mark))
            paper.revocation = Revocation(lost.n, lost.documents[0].sent, revoking)
            await self._let_go(lost)
        await self._do([paper], UNTAGGED, begin_key(begin.number), b"", language)

    async def _settled(self, request: TaskRequest | None = None, fingerprint: bytes = b"") -> None:
        """As `_settle`; where the settings say so, what cannot be asked for is made again offline.

        :raises Refused: as `_settle` does.
        """
        try:
            await (self.resolve() if request is None else self._settle(request, fingerprint))
        except Refused as refused:
            cannot_be_asked = refused.res is Res.COLLISION_NOT_REPAIRED
            if not (self._revokes and cannot_be_asked and await self._go_without(refused)):
                raise
            # It goes on as after a power cut: the begin is stored, and says what has to be made again.
            self._stored = None
            await self._settle(request, fingerprint)

    async def _go_without(self, refused: Refused) -> bool:
        """Go offline though a document may have arrived, if that may be now; the refusal stands otherwise."""
        open_ones = await self._unresolved()
        lost = open_ones[0] if len(open_ones) == 1 and revocable(open_ones[0], self._state) else None
        mark = await read_mark(self._store)
        if lost is None or (mark is not None and self._n in mark.registers) or await self._channel.answers():
            return False
        return await self._go_by_itself(refused, "uk", lost)

    async def _make_again(self) -> None:
        """Make the document offline for which the session began, as itself: its tag, its content, its answer."""
        lost, offline = self._state.lost, self._state.offline
        if lost is None or offline is None:
            return
        again = self._drafting.again(documents.decode(lost.value), self._state)
        done = await self._do([await self._paper(again)], lost.kind, lost.key, lost.fingerprint, "uk")
        reached("offline.made-again")
        assert isinstance(done, bytes), "the tag of a document that is made again was freed"
        told = {"device": self._name, "lost": offline.first, "again": again.number}
        self.log.warn("{device}: document {lost}, whose answer was lost, was made again offline as {again}", **told)

    async def _go_by_itself(self, refused: Refused, language: str, lost: OperationRow | None = None) -> bool:
        """Go offline because nobody is there, if that may be now; the refusal of the document stands otherwise."""
        reached("offline.refused")
        try:
            await self._begin_offline(BY_ITSELF, language, lost)
            reached("offline.begun")
        except Refused as cannot:
            self.log.info("{device}: cannot go offline: {why}", device=self._name, why=str(cannot))
            return False
        told = {"device": self._name, "why": refused.aq_errortxt or str(refused)}
        self.log.warn("{device} went offline by itself: {why}", **told)
        return True

    @property
    def away(self) -> bool:
        """Whether it went offline by itself: see `IRegister`."""
        return self._state.offline is not None and self._state.offline.by_itself

    @property
    def watched(self) -> bool:
        """Whether its link is to be looked after: see `IRegister`."""
        state = self._state
        return self._channel.remote and self._settings.offline_allowed and state.shift_open and state.offline is None

    @property
    def probe_s(self) -> float:
        """Seconds between two tries to come home: see `IRegister`."""
        return self._settings.offline_probe_s

    async def answers(self) -> bool:
        """Whether the far end is there: see `IRegister`."""
        return await self._channel.answers()

    async def come_home(self, language: str) -> bool:
        """One step back online: see `IRegister`."""
        try:
            await self.resolve()
            if not self.away:
                return False
            assert self._state.offline is not None and self._state.session is not None
            if await self._handing_in.package(self._state.offline, self._state.session):
                return True
            await self.go_online(language)
        except Refused as refused:
            self._home_error = ": ".join(part for part in (str(refused), refused.aq_errortxt) if part)
            raise
        self.log.info("{device} is back online", device=self._name)
        return False

    def _done(self, answer: bytes, document: Document, fiscal_number: str) -> Done:
        """What there is to tell and to print of ``document``, accepted as ``fiscal_number``."""
        return Done(
            answer,
            DocumentPaper(document, fiscal_number, self._settings.template),
            f"{document.header.fisid}/{document.number}",
            document.moves_cash,
        )


OPEN_COLLISIONS = (Res.COLLISION_NOT_REPAIRED, Res.COLLISION_UNSOLVABLE, Res.PREVIOUS_NOT_PROCESSED)
"""Why a register that does not know what became of its last document cannot go on."""


def _month_spent(state: RegisterState, now: int) -> int:
    """Milliseconds that a register was offline in the month of its session, or of ``now``, the session included."""
    if state.offline is None:
        return state.offline_month.before(now)
    return state.offline_month.before(state.offline.since) + max(0, now - state.offline.since)
