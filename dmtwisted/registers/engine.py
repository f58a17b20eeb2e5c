"""The software register: documents out of requests, made once, numbered without gap, never done twice.

The engine knows the order of things. Each part does one of them: `drafting` draws up the document, `bookkeeping`
brings it through the journal to the tax service, `collisions` finds out what became of a lost answer, and
`offline_sessions` goes offline and back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress

import msgspec
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.answers import Warning, amount, repeated, success
from dmtwisted.clock import ServiceClock, day_of, kyiv
from dmtwisted.devices.driver import BadSettings, Ways
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, PartPayment, Receipt
from dmtwisted.documents.paper import DocumentPaper
from dmtwisted.observed import Observed
from dmtwisted.outbox import Later
from dmtwisted.registers.asking import REVOKING_TRIES, Asking, nothing
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED, Books
from dmtwisted.registers.channels.breaker import COSTLY_S
from dmtwisted.registers.channels.interface import Away, IFiscalChannel
from dmtwisted.registers.collisions import CANNOT_BEGIN, Collisions, says_else
from dmtwisted.registers.customers import HANDED_OUT, reach_of
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.infos import CommonInfo
from dmtwisted.registers.interface import NUMBER, STATUS, STORNO, TAGGED, Done, IRegister, Repeats
from dmtwisted.registers.local import LocalTasks
from dmtwisted.registers.mark_rules import IMarks
from dmtwisted.registers.marks import marks_of
from dmtwisted.registers.offline_sessions import OfflineSessions
from dmtwisted.registers.offline_time import MINUTE, month_spent, offline_left
from dmtwisted.registers.reserving import Reserving
from dmtwisted.registers.settings import RegisterSettings, coming, overruled, value_of
from dmtwisted.registers.terms import Calendar, Terms
from dmtwisted.registers.totals import BY_ITSELF, UnheardReceipt
from dmtwisted.registers.unheard import warning_of
from dmtwisted.registers.warnings import coming_warnings
from dmtwisted.requests import TASK_EXPECTED, FiscalRequest, ReceiptRequest, TaskRequest, malformed
from dmtwisted.results import Refused, Res, Text, one_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, LetterRow, OperationRow

_fingerprint = msgspec.msgpack.Encoder().encode

MOST_REPEATS = 200
"""Tags of which it is remembered that a caller asked for their answer again."""

NAMESAKES = 20
"""Most receipts with one fiscal number that are looked at: the numbers of training registers begin anew in each."""

NO_PREPAYMENT = Text("це не чек передплати за цю ціну", "this is no receipt of a prepayment on this price")


@implementer(IRegister)
class SoftwareRegister:
    """A register that is ours from the first sum to the last total; a channel takes its documents.

    :param revokes: whether it goes offline though a document may have arrived, which is made again then.
    :param insist: lets the next question through to a tax service that did not answer just now.
    :param marks: is asked for excise marks before a sale. :param posted: says that there are letters to tell.
    :param ways: how receipts reach customers. :param asks_s: as `Asking` has ``lasts``.
    """

    log = Logger()
    books_kind: type[Books] = Books

    def __init__(
        self,
        device_n: int,
        name: str,
        fisid: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
        revokes: bool = False,
        insist: Callable[[], None] = nothing,
        marks: IMarks | None = None,
        posted: Callable[[], None] = nothing,
        ways: Callable[[], Ways] = Ways,
        asks_s: float = 0.0,
    ) -> None:
        self._n, self._name, self._settings, self._revokes = device_n, name, settings, revokes
        self._store, self._channel, self._clock = store, channel, clock
        self._calendar = calendar = Calendar(settings, fisid, clock)
        self._marks = marks
        self._fisid = fisid
        self._drafting = Drafting(name, settings, calendar, channel.dtype, channel.desk, clock)
        self._local = LocalTasks(device_n, calendar, channel.dtype, store, clock)
        self._asking = Asking(channel, clock, insist, REVOKING_TRIES if revokes else 0, asks_s)
        self.observed = Observed(clock)
        self._books = self.books_kind(
            device_n, name, settings, store, channel, clock, self._asking, posted, self.observed
        )
        self._ways = ways
        self._unheard = self._books.unheard
        self._collisions = Collisions(self._books, self._drafting)
        self._sessions = OfflineSessions(self._books, self._drafting)
        self._reserving = Reserving(self._books, self._drafting, settings)
        self._home_error = ""
        # Whether the tax service answered a task that could not hand in everything.
        self._near = False
        self._repeats: dict[str, Repeats] = {}
        # Until then tasks leave the return to the background; of a steady clock.
        self._home_after = 0.0

    # Tasks

    async def perform(self, request: TaskRequest, language: str) -> Done:
        """Do one task: see `IRegister`."""
        self._asking.begin()
        self._unheard.listen()
        fiscal = request.fiscal
        if fiscal is None or fiscal.task is None:
            return await self._nameless(request)
        if fiscal.task in TAGGED or fiscal.task == STORNO:
            return await self._fiscalise(request, fiscal, language)
        if fiscal.task not in self._local:
            tasks = {*TAGGED, STORNO, *self._local.tasks}
            raise Refused(Res.UNKNOWN_FISCAL_TASK, fiscal.task, note=one_of(*sorted(tasks)))
        return await self._report(request, fiscal, language)

    async def _fiscalise(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> Done:
        """A task that makes a document; made once more when what stood in its way is out of the way."""
        fingerprint = hashlib.blake2b(_fingerprint(fiscal), digest_size=16).digest()
        if not self._books.settled:
            await self._settled(request, fingerprint)
        if self._books.state.offline is not None and self._settings.offline_probe_before_receipt:
            await self._home_first(request, language)
        try:
            return await self._make(request, fiscal, fingerprint, language)
        except Refused as refused:
            why = refused
        if isinstance(why, Away) and await self._there_after_all():
            try:
                return await self._make(request, fiscal, fingerprint, language)
            except Refused as refused:
                why = refused
        lost = self._revokes and fiscal.task in TAGGED and why.res is Res.COLLISION_NOT_REPAIRED
        if not (lost or await self._mended(why, language)):
            raise why
        await self._settled(request, fingerprint)
        known = await self._known(request.tag) if lost else None
        if known is not None:
            # It was made again offline, or found after all: this is the task's first answer.
            return self._again(known, known.answer)
        return await self._make(request, fiscal, fingerprint, language)

    async def _make(self, request: TaskRequest, fiscal: FiscalRequest, fingerprint: bytes, language: str) -> Done:
        """The document of the task, or what its tag has already."""
        books, tagged = self._books, fiscal.task in TAGGED
        like = self._like(request, fingerprint)
        told = self._unheard.due(like)
        warnings: list[Warning] = []
        # What a card was charged for is not answered with another receipt.
        if like and self._settings.untagged_repeat == "return" and not request.paid:
            returned = await self._returned(like, language)
            if returned is not None:
                return returned
        try:
            if tagged:
                draft = self._drafting.draft(request, books.state, books.sold)
                if _names_receipts(draft):
                    draft = await self._with_receipts(draft)
                if marks_of(draft):
                    warnings = await self._check_marks(draft, request.tag, language)
            else:
                draft = self._drafting.storno(request, books.state, await self._last_document())
            submissions = [await books.prepare(draft)]
            if draft.kind == documents.Z and self._channel.closes:
                closing = self._drafting.closing(request, books.after(submissions[0]))
                submissions.append(await books.prepare(closing))
        except Refused:
            # A tag that is known is answered whatever the rest of the request says.
            known = await self._known(request.tag) if tagged else None
            if known is None:
                raise
            return self._repeat(known, request, fingerprint, language)
        # A storno carries no tag: what it takes back is its key, so it cannot be done twice either.
        kind, key = (KIND, request.tag) if tagged else (UNTAGGED, f"storno of {books.state.last.number}")
        if told:
            warnings += [warning_of(receipt, language) for receipt in told]
        uncoded = self._drafting.uncoded(draft, books.state)
        if uncoded:
            rows = ", ".join(str(index + 1) for index in uncoded)
            warnings.append(Warning.of(Res.EXCISE_UNCODED, language, rows))
        if draft.kind == documents.Z and self._settings.dated:
            warnings += coming_warnings(self._settings, draft.at, language)
        if request.customer is not None and draft.kind in HANDED_OUT:
            submissions[0].reach, in_the_way = reach_of(request.customer, *self._ways())
            warnings += [Warning.by(Refused(Res.NOT_DELIVERED, why), language) for why in in_the_way]
        done = await books.fiscalise(submissions, kind, key, fingerprint, language, warnings)
        if isinstance(done, OperationRow):
            return self._repeat(done, request, fingerprint, language)
        self._unheard.answered(told, like, draft, submissions[0].fiscal_number, fingerprint)
        if draft.kind == documents.OPEN and self.short:
            await self._fill(language)
        return self._done(done, draft, submissions[0].fiscal_number)

    async def _fill(self, language: str) -> None:
        """Ask for offline numbers beside a task that is done: whatever comes of it, the task stays done."""
        with suppress(Refused):
            await self._reserving.fill(language)

    async def _with_receipts(self, draft: Document) -> Document:
        """A return or a part payment with what the stored receipts that it names say."""
        receipt = draft.receipt
        assert receipt is not None
        if draft.kind == documents.RETURN:
            receipt = await self._with_purchase(receipt)
        if receipt.part is not None and receipt.part.type != documents.PREPAYMENT:
            part = await self._with_prepayment(receipt, receipt.part, draft.kind == documents.RETURN)
            receipt = msgspec.structs.replace(receipt, part=part)
        return msgspec.structs.replace(draft, receipt=receipt)

    async def _with_purchase(self, receipt: Receipt) -> Receipt:
        """A return with the day of the purchase, if that was at another register of this service."""
        number, register = receipt.purchase_receipt_fisn.strip(), receipt.purchase_rro_fisn.strip()
        if not (number and register) or register == self._fisid:
            return receipt
        found = await self._sold(number, register)
        return msgspec.structs.replace(receipt, purchase_date=f"{kyiv(found[0].at):%Y%m%d}") if found else receipt

    async def _with_prepayment(self, receipt: Receipt, part: PartPayment, returns: bool) -> PartPayment:
        """The part payment with the number of its prepayment, which a return may leave to the receipt that it names.

        :raises Refused: 1098 when nobody knows that number, 2000 when the receipt that has it is no prepayment of
            this price.
        """
        if returns:
            register = receipt.purchase_rro_fisn.strip() or self._fisid
            known = part.receipt_fisn or not receipt.purchase_receipt_fisn.strip()
            for sale in [] if known else await self._sold(receipt.purchase_receipt_fisn.strip(), register):
                if sale.receipt is not None and sale.receipt.part is not None:
                    part = msgspec.structs.replace(part, receipt_fisn=sale.receipt.part.receipt_fisn)
        if not part.receipt_fisn:
            raise Refused(Res.MISSING_OBJECT, "fiscal.receipt.partpay_receipt_fisn")
        found = [] if returns else await self._sold(part.receipt_fisn, self._fisid)
        firsts = [sale.receipt.part for sale in found if sale.receipt is not None]
        fits = [
            first
            for first in firsts
            if first is not None
            and first.type == documents.PREPAYMENT
            and first.sum + part.sum <= receipt.sum_receipt
        ]
        if firsts and not fits:
            raise malformed("fiscal.receipt.partpay_receipt_fisn", NO_PREPAYMENT)
        return part

    async def _sold(self, number: str, register: str) -> list[Document]:
        """The sales of a register with this fiscal number, as far as they are stored here."""
        query = DocumentQuery(kinds=[documents.SALE], fiscal_number=number, limit=NAMESAKES)
        found = map(documents.decode, [row.value for row in (await self._store.find_documents(query)).documents])
        return [sale for sale in found if sale.header.fisid == register]

    async def _check_marks(self, draft: Document, tag: str, language: str) -> list[Warning]:
        """See that the excise marks of a sale may be sold, as far as that is known without the store.

        :returns: warnings of what the settings let pass.
        :raises Refused: 2101, 2102 or 2103 when they may not.
        """
        warnings = self._books.rules.check(draft, self._books.state.offline is not None, language)
        if self._marks is None or draft.kind != documents.SALE or not (found := marks_of(draft)):
            return warnings
        # A repeat of the tag is no second sale: its marks are sold, and rightly so.
        if await self._known(tag) is None:
            warnings += await self._marks.check(draft, found, language)
        return warnings

    def _like(self, request: TaskRequest, fingerprint: bytes) -> bytes:
        """The content by which a task without a tag may be the repeat of an unheard receipt; empty for any other."""
        if not (self._unheard.receipts and request.untagged) or self._settings.untagged_repeat == "sell":
            return b""
        return self._unheard.content_of(request.repeats) or fingerprint

    async def _returned(self, like: bytes, language: str) -> Done | None:
        """The answer of an unheard receipt with the content ``like``, in place of a second receipt."""
        same = self._unheard.same(like, self._books.state.shift)
        known = await self._known(same.tag) if same is not None else None
        if known is None or same is None:
            return None
        return self._again(known, repeated(known.answer, warning_of(same, language, returned=True)))

    def _done(self, answer: bytes, document: Document, fiscal_number: str) -> Done:
        """The answer, and what can be printed of ``document``, accepted as ``fiscal_number``."""
        return Done(
            answer,
            DocumentPaper(document, fiscal_number, self._settings.template),
            f"{document.header.fisid}/{document.number}",
            document.moves_cash,
        )

    async def _mended(self, refused: Refused, language: str) -> bool:
        """Whether what stood in the way of a document, which was certainly not taken, is out of the way now."""
        books = self._books
        if books.stored is None or books.state.offline is not None:
            return False
        if refused.res is Res.TAX_SERVICE_WRONG_HASH:
            return await self._collisions.arrived_late(refused)
        # What may have left is asked about first; nothing is made a second time under another number.
        if not isinstance(refused, Away):
            return False
        if refused.res is Res.SIGNING_FAILED:
            # For want of a time stamp it would go offline again after each return.
            self._home_after = self._clock.steady() + self._settings.offline_probe_s
        return await self._sessions.begin_by_itself(refused, language)

    async def _there_after_all(self) -> bool:
        """Whether the tax service answers a register that is about to go offline, for a document did not leave."""
        settings, online = self._settings, self._books.state.offline is None
        asks = settings.offline_probe_before_receipt and settings.offline_allowed and online
        return asks and await self._asking.there(settings.offline_probe_limit_s)

    async def _last_document(self) -> Document | None:
        found = await self._store.find_documents(
            DocumentQuery(devices=[self._n], number=self._books.state.last_receipt, limit=1)
        )
        return documents.decode(found.documents[0].value) if found.documents else None

    async def _report(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> Done:
        """A task without a document."""
        warnings = []
        try:
            await self.resolve()
        except Refused as refused:
            # Status and number are answered even while a collision cannot be repaired; then with a warning.
            if fiscal.task not in (STATUS, NUMBER) or refused.res not in (*OPEN_COLLISIONS, *CANNOT_BEGIN):
                raise
            warnings.append(Warning.of(refused.res, language))
        info, form = await self._local.perform(request, fiscal, self._books.state)
        left = offline_left(self._settings, self._books.state, self._clock.now())
        if left is not None and isinstance(info, CommonInfo):
            info.offline_left = left
        told = self._unheard.due()
        warnings += [*(warning_of(receipt, language) for receipt in told), *self._books.warnings(language)]
        answer = success(request, self._clock.now(), info, warnings)
        self._unheard.answered(told)
        return Done(answer, None if form is None else lambda: form)

    async def _nameless(self, request: TaskRequest) -> Done:
        """A body without ``fiscal.task``: a look-up when the tag is known, else incomplete."""
        done = await self._stored_answer(request.tag)
        if done is not None:
            return done
        if request.fiscal is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal")
        raise malformed("fiscal.task", TASK_EXPECTED)

    # What a tag has already

    async def look_up(self, request: TaskRequest) -> Done:
        """The stored answer of a tag: see `IRegister`."""
        self._unheard.listen()
        done = await self._stored_answer(request.tag)
        if done is None:
            raise Refused(Res.TAG_NOT_FOUND)
        return done

    async def _stored_answer(self, tag: str) -> Done | None:
        await self._settled()
        known = await self._known(tag)
        if known is None:
            return None
        self._repeated(tag)
        return self._again(known, repeated(known.answer))

    async def _known(self, tag: str) -> OperationRow | None:
        return await self._store.find(self._n, KIND, tag) if tag else None

    def _repeat(self, known: OperationRow, request: TaskRequest, fingerprint: bytes, language: str) -> Done:
        """The earlier answer; with a warning when the request says something else than the earlier one."""
        warning = None
        if says_else(known, request, fingerprint):
            if self._settings.strict_tags:
                raise Refused(Res.TAG_KNOWN)
            warning = Warning.of(Res.TAG_KNOWN, language)
        self._repeated(known.key)
        return self._again(known, repeated(known.answer, warning))

    def _again(self, known: OperationRow, answer: bytes) -> Done:
        """``answer`` of a task that was done before, with its paper."""
        self._unheard.answered(repeated=known.key)
        row = known.documents[0]
        return self._done(answer, documents.decode(row.value), row.fiscal_number)

    # Operations whose outcome is unknown

    async def resolve(self) -> None:
        """Settle every operation whose outcome is unknown: see `IRegister`."""
        await self._collisions.settle()

    async def _settled(self, request: TaskRequest | None = None, fingerprint: bytes = b"") -> None:
        """As `Collisions.settle`; where the settings say so, what cannot be asked about is made again offline.

        :raises Refused: as `Collisions.settle` does.
        """
        try:
            await (self.resolve() if request is None else self._collisions.settle(request, fingerprint))
        except Refused as refused:
            cannot_be_asked = refused.res is Res.COLLISION_NOT_REPAIRED
            if not (self._revokes and cannot_be_asked and await self._sessions.begin_without(refused)):
                raise
            # It goes on as after a power cut: the session is stored, and says what has to be made again.
            self._books.stored = None
            await self._collisions.settle(request, fingerprint)

    # Offline and back

    async def go_offline(self, language: str) -> None:
        """Give documents numbers of our own from now on: see `IRegister`."""
        await self.resolve()
        as_asked = self._settings.offline_by_hand == "as_asked"
        await self._sessions.begin("", language, ask_s=0.0 if as_asked else self._settings.offline_probe_limit_s)

    async def go_online(self, language: str) -> None:
        """Hand in what was made offline: see `IRegister`."""
        self._asking.begin()
        await self._end_session(language)

    async def _end_session(self, language: str, source: str = "") -> None:
        was_offline = self._books.state.offline is not None
        await self.resolve()
        if was_offline and self._books.state.offline is None:
            # The session's closing document, submitted before, had arrived.
            raise Refused(Res.ONLINE_REQUEST_IMPOSSIBLE)
        await self._sessions.end(language, source)
        self._home_error = ""
        if self.short:
            await self._fill(language)

    async def _home_first(self, request: TaskRequest, language: str) -> None:
        """Come back online before a document is made, if the tax service answers and the caller's time is enough.

        As long as it is certain that the session goes on, the document is made offline. A try that took long is not
        repeated by the next tasks: a server may answer this question and nothing else.

        :raises Refused: when it is not known whether the session has ended, as `Books.fiscalise` does; 1084 when it
            has, and the caller's time too.
        """
        # A storno takes back the last document, which would be the session's closing then.
        if request.task not in TAGGED or await self._known(request.tag) is not None:
            return
        begun = self._clock.steady()
        if not await self._asking.there(self._settings.offline_probe_limit_s) or begun < self._home_after:
            return
        try:
            self._near = not await self._sessions.end_soon(language)
        except Refused as refused:
            self._home_error, now = refused.words().en, self._clock.steady()
            if not self._books.settled:
                raise
            if now - begun >= COSTLY_S:
                self._home_after = now + self._settings.offline_probe_s
            self.log.warn("{device} stays offline: {why}", device=self._name, why=self._home_error)
            return
        if not self._near:
            self._home_error = ""
            if self._asking.over:
                raise Refused(Res.TAX_SERVICE_UNAVAILABLE)

    async def come_home(self, language: str) -> bool:
        """One step back online: see `IRegister`."""
        self._asking.begin(caller=False)
        try:
            await self.resolve()
            if not self.away:
                return False
            if await self._sessions.hand_in():
                return True
            await self._end_session(language, BY_ITSELF)
        except Refused as refused:
            self._home_error = refused.words().en
            raise
        finally:
            self._near = False
        return False

    @property
    def away(self) -> bool:
        """Whether it is offline: see `IRegister`."""
        return self._books.state.offline is not None

    @property
    def watched(self) -> bool:
        """Whether its link is checked while it is online: see `IRegister`."""
        state = self._books.state
        return self._channel.remote and self._settings.offline_allowed and state.shift_open and state.offline is None

    @property
    def short(self) -> bool:
        """Whether offline numbers should be asked for: see `Reserves`."""
        return self._reserving.short

    async def stock_up(self, language: str) -> None:
        """Ask for offline numbers: see `Reserves`."""
        self._asking.begin(caller=False)
        await self.resolve()
        await self._reserving.fill(language)

    @property
    def probe_s(self) -> float:
        """Seconds between two tries to come home: see `IRegister`."""
        return AT_ONCE_S if self._near and self.away else self._settings.offline_probe_s

    async def answers(self) -> bool:
        """Whether the tax service is there: see `IRegister`."""
        there = await self._channel.answers()
        self._near &= there
        if there:
            self.observed.worked(task=False)
        return there

    async def inquire(self) -> bool:
        """Whether the tax service is there: see `Inquired`.

        :raises Refused: when it is not.
        """
        await self._channel.greet()
        return True

    def _terms(self) -> Terms:
        """What is valid for the shift."""
        return self._calendar.of(self._books.state)

    # What the rooms above ask

    async def rehearse(self, request: TaskRequest) -> Receipt:
        """The receipt that a sale or return would make: see `IRegister`."""
        await self._settled()
        draft = self._drafting.draft(request, self._books.state, self._books.sold)
        if _names_receipts(draft):
            draft = await self._with_receipts(draft)
        assert draft.receipt is not None
        await self._check_marks(draft, request.tag, "uk")
        await self._books.rules.see(self._store, draft)
        return draft.receipt

    def owed(self, asked: ReceiptRequest) -> int:
        """What a receipt without its payments comes to: see `IRegister`."""
        return self._drafting.owed(asked, self._books.state)

    async def check_change(self, settings: msgspec.Struct) -> None:
        """See that the settings may become ``settings`` now.

        :raises Refused: 1100 when batch mode would change during a shift.
        :raises BadSettings: when a setting would change that is overruled since a day.
        """
        assert isinstance(settings, RegisterSettings)
        row = overruled(settings, self._settings, day_of(self._clock.now()))
        if row is not None:
            raise BadSettings("settings.dated", f"{row.setting} is set since {row.valid_from}; change that row")
        if settings.batch != self._settings.batch and (await self._books.current()).shift_open:
            raise Refused(Res.SHIFT_MUST_BE_CLOSED)

    def repeats(self, tag: str) -> Repeats | None:
        """How often the answer of this tag was asked for again: see `Remembering`."""
        return self._repeats.get(tag)

    def _repeated(self, tag: str) -> None:
        known = self._repeats.pop(tag, None)
        self._repeats[tag] = Repeats(1 if known is None else known.times + 1, self._clock.now())
        if len(self._repeats) > MOST_REPEATS:
            del self._repeats[next(iter(self._repeats))]

    def unheard(self) -> list[UnheardReceipt]:
        """Receipts of this shift whose caller heard no success: see `Remembering`."""
        self._unheard.listen()
        return [receipt for receipt in self._unheard.receipts if receipt.shift == self._books.state.shift]

    async def remember(self) -> None:
        """Store which receipts are unheard: see `Remembering`."""
        if self._books.stored is not None:
            await self._unheard.remember(self._books.state.last.number)

    async def check(self) -> None:
        """Try the way to the tax service: see `IRegister`."""
        await self._channel.check()

    async def state(self) -> dict[str, object]:
        """Shift, mode and cash: see `IRegister`."""
        state, at = await self._books.current(), self._clock.now()
        now, left = self._calendar.of(state).settings, offline_left(self._settings, state, at)
        return {
            "fisid": self._fisid,
            "dtype": self._channel.dtype,
            "shift_status": int(state.shift_open),
            "shift": state.shift,
            "opened_at": state.opened_at,
            "online_status": int(state.offline is not None),
            "offline_since": state.offline.since if state.offline is not None else 0,
            "offline_by_itself": state.offline is not None and state.offline.by_itself,
            "offline_numbers": state.offline_numbers_left,
            "offline_month_min": month_spent(state, at) // MINUTE,
            "offline_left": None if left is None else msgspec.structs.asdict(left),
            "online_by_itself": self._books.came_home and left is None,
            "offline_error": self._home_error if state.offline is not None else "",
            "collision": self._books.stored is None and bool(await self._books.unresolved()),
            "safe": amount(state.safe),
            "docno": state.last.number,
            "coming": [
                {**msgspec.structs.asdict(row), "was": value_of(now, row.setting)}
                for row in coming(self._settings, day_of(at))
            ],
        }

    async def tell_mark(self, letter: LetterRow) -> None:
        """Tell the marks service what was sold: see `TellsMarks`."""
        if self._marks is None:
            raise Later("the register has no marks service now")
        await self._marks.tell(letter)

    def stop_asking(self) -> None:
        """Ask no more for a document whose answer was lost: see `AsksMeanwhile`."""
        self._asking.stop()

    def close(self) -> None:
        """A software register holds nothing open; the driver closes what is behind its channel."""
        self.stop_asking()


def _names_receipts(draft: Document) -> bool:
    """Whether stored receipts may say more of a document: of a return, or of a part of a price."""
    receipt = draft.receipt
    return receipt is not None and (draft.kind == documents.RETURN or receipt.part is not None)


OPEN_COLLISIONS = (Res.COLLISION_NOT_REPAIRED, Res.COLLISION_UNSOLVABLE, Res.PREVIOUS_NOT_PROCESSED)
"""Why a register that does not know what became of its last document cannot go on."""

AT_ONCE_S = 1.0
"""Seconds until a register goes on to hand in what a task could not wait for."""
