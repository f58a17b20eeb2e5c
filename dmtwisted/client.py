"""A client with correct retries: one call makes one receipt, whatever fails in between.

    client = Client("http://localhost:3939", source="till 1")
    sold = await client.sell("test", [row("Кава", 125.5, taxgrp=1)], [cash(200)], tag=order.uuid)
    print(sold.fiscal_number)

A call raises one of four exceptions, and no other:

============= ================================================ ==================================================
exception     what is certain                                  what the program does
============= ================================================ ==================================================
`Refused`     it was not done                                  show ``errortxt``, correct, call again
`Unknown`     nothing: no clear answer came in time            call again with the same key, at any later time
`TagReused`   the key belongs to another receipt               a bug of the program: a key is for one use
`AnotherSum`  a terminal took ``answer.info["sum"]`` instead   cancel it, or take the rest in another way
============= ================================================ ==================================================

Everything depends on the key (``tag`` of a receipt, ``transaction_id`` of a payment). Store it before the call; after
a crash of the program call again with the same key and the same content. The rules are in `docs/integrating.md`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import msgspec
from treq.client import HTTPClient
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.web.client import Agent

REGISTER_WAIT, PRINTER_WAIT, TERMINAL_WAIT = 20.0, 6.0, 310.0
"""Seconds to wait for an answer (specification 4.7); for a terminal its own time-out and ten more."""

PATIENCE = 90.0
"""Seconds from the first lost answer, or the first refusal that a repeat may solve, until a call gives up."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0
"""Seconds between two tries, doubled each time."""

DONE, REPEAT, UNCLEAR, CORRECT = 0, 1, 2, 3
"""Values of ``res_action`` (specification 3.2)."""

_OPEN_ALREADY, _NO_SUCH_TAG, _NO_SUCH_OPERATION, _TAG_KNOWN = 1096, 1058, 5013, 1051
_BUSY, _NOT_STORED, _TERMINAL_BUSY, _INTERNAL, _NOT_TAKEN, _ANOTHER_SUM = 1105, 1082, 5022, 1016, 5014, 5075

_TELLS_NOTHING = frozenset({_BUSY, _NOT_STORED, _TERMINAL_BUSY})
"""Refusals of a try that say nothing about the try before."""

_NEVER_TAKEN = frozenset({_NOT_TAKEN, _TERMINAL_BUSY})
"""Stored refusals after which the terminal certainly took nothing, so the same payment may be tried again."""

_STORED = 17
"""The task of a terminal that returns a stored operation (specification 4.4)."""

Amount = Decimal | int | float | str
Members = Mapping[str, Any]

_encode = msgspec.json.Encoder(decimal_format="number").encode
_decode = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode


@dataclass(frozen=True)
class Answer:
    """The answer to a task; ``members`` are all of it, numbers with a fraction as `Decimal`."""

    members: dict[str, Any] = field(repr=False)

    @property
    def res(self) -> int:
        """The result code; 0 is success."""
        return int(self.members.get("res", -1))

    @property
    def task(self) -> int:
        """The number of the task; in a stored answer the one that it was stored for."""
        return int(self.members.get("task", -1))

    @property
    def action(self) -> int:
        """``res_action``."""
        return int(self.members.get("res_action", UNCLEAR))

    @property
    def text(self) -> str:
        """``errortxt``, for people."""
        return str(self.members.get("errortxt", ""))

    @property
    def info(self) -> dict[str, Any]:
        """``info``, from the device."""
        info: dict[str, Any] = self.members.get("info") or {}
        return info

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """``warnings``: ``code`` and ``wtxt``."""
        warnings: list[dict[str, Any]] = self.members.get("warnings") or []
        return warnings

    @property
    def tag(self) -> str:
        """The key of the receipt."""
        return str(self.members.get("tag", ""))

    @property
    def transaction_id(self) -> str:
        """The key of the payment."""
        return str(self.members.get("transaction_id", ""))

    @property
    def repeated(self) -> bool:
        """Whether an earlier try or an earlier call did it."""
        return self.members.get("task_status") == 2

    @property
    def fiscal_number(self) -> str:
        """The number that the tax service gave."""
        return str(self.info.get("doccode", ""))


class ClientError(Exception):
    """A call failed."""


class Refused(ClientError):
    """The task was not done; ``answer`` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.res}: {answer.text}")
        self.answer = answer


class Unknown(ClientError):
    """It is unknown whether the task was done; ``key`` is the tag or transaction_id for the next call."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
        self.key, self.why = key, why


class TagReused(ClientError):
    """The tag was used before for another content: ``answer`` is that receipt's, and nothing was done now."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the tag {answer.tag} belongs to another receipt, {answer.fiscal_number}")
        self.answer = answer


class AnotherSum(ClientError):
    """The terminal approved another sum than was asked for: that of ``answer.info``, and the money is taken."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.res}: {answer.text}")
        self.answer = answer


class Client:
    """The client of a till.

    :param url: the address of the service: ``http://localhost:3939``.
    :param source: the name of the calling program, for logs.
    :param api_key: for a hardened service (docs/security.md).
    :param language: ``uk`` or ``en``, for ``errortxt``.
    :param patience: seconds after which a call without a clear answer gives up.
    :param terminal_wait: seconds to wait for a terminal: its ``wait_s`` and ten more.
    :param http: an HTTP client with the interface of `treq`.
    :param clock: for time-outs and pauses.
    """

    def __init__(
        self,
        url: str,
        source: str = "",
        *,
        api_key: str = "",
        language: str = "uk",
        patience: float = PATIENCE,
        terminal_wait: float = TERMINAL_WAIT,
        http: Any = None,
        clock: IReactorTime | None = None,
    ) -> None:
        self._url, self._source = url.rstrip("/"), source
        self._headers = {"Content-Type": ["application/json"], "Accept-Language": [language]}
        if api_key:
            self._headers["X-Api-Key"] = [api_key]
        self._patience, self._terminal_wait = patience, terminal_wait
        if clock is None:
            # Importing it installs it, which is the program's own choice.
            from twisted.internet import reactor

            clock = reactor
        assert clock is not None
        self._clock: IReactorTime = clock
        self._http = http if http is not None else _treq(clock)

    # Registers

    async def open_shift(self, device: str, cashier: str = "", *, tag: str = "") -> Answer | None:
        """Open the shift; `None` when it is open already."""
        try:
            return await self.fiscal(device, 0, tag=tag, cashier=cashier)
        except Refused as refused:
            if refused.answer.res == _OPEN_ALREADY:
                return None
            raise

    async def sell(
        self,
        device: str,
        rows: Iterable[Members],
        pays: Iterable[Members],
        *,
        tag: str = "",
        cashier: str = "",
        printed: bool = False,
        batch: bool = False,
        **receipt: Any,
    ) -> Answer:
        """One sale, fiscalised once.

        :param tag: the key of this sale, stored by the caller before the call; generated when empty.
        :param printed: print it too (``/dm/execute-prn``).
        :param batch: take the card payment too (``/dm/execute-pkg``): card, receipt and paper as one operation.
        :param receipt: further members of the receipt, such as ``disc`` or ``comment_up``; ``sum`` is calculated.
        """
        asked = _receipt(rows, pays, receipt)
        path = "/dm/execute-pkg" if batch else "/dm/execute-prn" if printed else "/dm/execute"
        return await self.fiscal(device, 1, tag=tag, cashier=cashier, path=path, receipt=asked)

    async def give_back(
        self,
        device: str,
        rows: Iterable[Members],
        pays: Iterable[Members],
        *,
        tag: str = "",
        cashier: str = "",
        printed: bool = False,
        **receipt: Any,
    ) -> Answer:
        """One return, fiscalised once; as `sell`."""
        path = "/dm/execute-prn" if printed else "/dm/execute"
        return await self.fiscal(
            device, 2, tag=tag, cashier=cashier, path=path, receipt=_receipt(rows, pays, receipt)
        )

    async def close_shift(self, device: str, cashier: str = "", *, tag: str = "") -> Answer:
        """The Z-report, which closes the shift."""
        return await self.fiscal(device, 11, tag=tag, cashier=cashier)

    async def look_up(self, device: str, tag: str) -> Answer | None:
        """The stored answer for ``tag``; `None` when nothing was done under it."""
        try:
            return await self._registered({"device": device, "type": 0, "tag": tag}, tag, "/dm/execute")
        except Refused as refused:
            if refused.answer.res == _NO_SUCH_TAG:
                return None
            raise

    async def fiscal(
        self, device: str, task: int, *, tag: str = "", path: str = "/dm/execute", **members: Any
    ) -> Answer:
        """Any task of a register; ``members`` are those of ``fiscal``."""
        tag = tag or str(uuid.uuid4())
        body = {"device": device, "tag": tag, "type": 1, "fiscal": {"task": task, **members}}
        return await self._registered(body, tag, path)

    async def _registered(self, body: dict[str, Any], tag: str, path: str) -> Answer:
        """Repeat with the same tag until there is a clear answer."""
        wait = {"/dm/execute": 0.0, "/dm/execute-prn": PRINTER_WAIT + 15.0}.get(path, self._terminal_wait)
        tries = _Tries(self._clock, self._patience, tag)
        while True:
            answer = await self._ask(path, body, REGISTER_WAIT + wait, tries)
            if answer is not None:
                if answer.action == DONE:
                    if any(warning.get("code") == _TAG_KNOWN for warning in answer.warnings):
                        raise TagReused(answer)
                    return answer
                if answer.action == CORRECT and answer.res != _INTERNAL:
                    raise Refused(answer)
                tries.heard(answer)
            await tries.pause()

    # Terminals

    async def pay(self, device: str, amount: Amount, *, transaction_id: str = "", **members: Any) -> Answer:
        """One payment by card, taken once.

        :param transaction_id: the key of this payment, a UUID stored by the caller before the call.
        :param members: further members of ``pay``, such as ``merch``.
        """
        return await self.terminal(device, 1, transaction_id=transaction_id, sum=amount, **members)

    async def refund(
        self, device: str, amount: Amount, rrn: str, *, transaction_id: str = "", **members: Any
    ) -> Answer:
        """Give money back to the card; ``rrn`` is ``info.refundid`` of the payment."""
        return await self.terminal(device, 2, transaction_id=transaction_id, sum=amount, refundid=rrn, **members)

    async def cancel(self, device: str, cancelid: str, *, transaction_id: str = "", **members: Any) -> Answer:
        """Cancel an operation of the open batch; ``cancelid`` is ``info.cancelid`` of its answer."""
        return await self.terminal(device, 3, transaction_id=transaction_id, cancelid=cancelid, **members)

    async def look_up_payment(self, device: str, transaction_id: str) -> Answer | None:
        """The stored answer of an operation, also of a refused one; `None` when there was none.

        :raises Unknown: when no clear answer came in time.
        """
        tries = _Tries(self._clock, self._patience, transaction_id)
        return await self._stored(device, transaction_id, tries)

    async def terminal(self, device: str, task: int, *, transaction_id: str = "", **members: Any) -> Answer:
        """Any task of a terminal that moves money; ``members`` are those of ``pay``.

        A stored refusal stays the answer of its label. So when the terminal certainly never took the request (5014,
        or 5022 that is stored), it is sent again under a label that is derived from the first one: a later call with
        the same key finds it, whichever try it was.

        :raises AnotherSum: when the terminal took another sum.
        """
        key = label = transaction_id or str(uuid.uuid4())
        tries = _Tries(self._clock, self._patience, key)
        while True:
            body = {
                "device": device,
                "type": 3,
                "transaction_id": label,
                "transaction_search": 2,
                "pay": {"task": task, **members},
            }
            answer = await self._ask("/dm/execute", body, self._terminal_wait, tries)
            if answer is None or answer.action == UNCLEAR or answer.res in (_INTERNAL, _TERMINAL_BUSY):
                # The customer may have paid, so the outcome is queried before money is asked for again. The query
                # also says whether a refusal for being busy is stored under this label.
                answer = await self._stored(device, label, tries)
            if answer is not None:
                if answer.action == DONE:
                    return answer
                if answer.res == _ANOTHER_SUM:
                    raise AnotherSum(answer)
                tries.heard(answer)
                if answer.res in _NEVER_TAKEN:
                    label = str(uuid.uuid5(uuid.UUID(label), "again")) if _is_uuid(label) else f"{label}+"
                elif answer.res not in _TELLS_NOTHING:
                    raise Refused(answer)
            await tries.pause()

    async def _stored(self, device: str, label: str, tries: _Tries) -> Answer | None:
        """The outcome of the operation ``label``, queried until it is known; `None` when there was none."""
        body = {"device": device, "type": 3, "transaction_id": label, "pay": {"task": _STORED}}
        while True:
            answer = await self._ask("/dm/execute", body, self._terminal_wait, tries)
            if answer is not None:
                if answer.res == _NO_SUCH_OPERATION:
                    tries.settled()
                    return None
                if answer.action != UNCLEAR and (answer.res not in _TELLS_NOTHING or answer.task != _STORED):
                    return answer
            await tries.pause()

    # Printers

    async def print_lines(self, device: str, lines: Iterable[Members]) -> Answer:
        """Print lines. There is one try: what may be on paper is not printed again.

        :raises Refused: when it was not printed.
        :raises Unknown: when somebody has to look at the paper.
        """
        body = {"device": device, "type": 2, "doc": {"lines": list(lines)}}
        tries = _Tries(self._clock, 0, device)
        answer = await self._ask("/dm/execute", body, PRINTER_WAIT + 15.0, tries)
        if answer is None or answer.action == UNCLEAR:
            raise Unknown(device, answer.text if answer else tries.why)
        if answer.action != DONE:
            raise Refused(answer)
        return answer

    # One request

    async def _ask(self, path: str, body: Members, wait: float, tries: _Tries) -> Answer | None:
        """One try: the answer, or `None` when there is no trustworthy one."""
        raw = _encode({"ver": 6, "source": self._source, **body})
        try:
            status, content = await Deferred.fromCoroutine(self._sent(path, raw)).addTimeout(wait, self._clock)
            answer = Answer(_decode(content))
        except Exception as error:
            # No connection, a lost one, no answer, or the answer of another program.
            tries.lost(f"{type(error).__name__}: {error}".rstrip(": "))
            return None
        if status in (401, 403):
            raise Refused(Answer({"res_action": CORRECT, **answer.members}))
        if status != 200 or "res_action" not in answer.members:
            tries.lost(f"HTTP {status}")
            return None
        return answer

    async def _sent(self, path: str, raw: bytes) -> tuple[int, bytes]:
        response = await self._http.request("POST", self._url + path, headers=self._headers, data=raw)
        return response.code, await response.content()


class _Tries:
    """The tries of one call: whether something may have been done, and when it gives up."""

    def __init__(self, clock: IReactorTime, patience: float, key: str) -> None:
        self._clock, self._patience, self._key = clock, patience, key
        self._until: float | None = None
        self._pause = FIRST_PAUSE
        self._last: Answer | None = None
        self._in_doubt = False
        self.why = ""

    def lost(self, why: str) -> None:
        """A try without an answer: it may have been done."""
        self._in_doubt, self._last, self.why = True, None, why

    def heard(self, answer: Answer) -> None:
        """A try with an answer that is not final."""
        self._last, self.why = answer, f"{answer.res}: {answer.text}"
        if answer.action == UNCLEAR or answer.res == _INTERNAL:
            self._in_doubt = True
        elif answer.res not in _TELLS_NOTHING:
            self._in_doubt = False

    def settled(self) -> None:
        """Certainly nothing was done so far."""
        self._in_doubt = False

    async def pause(self) -> None:
        """Wait before the next try.

        :raises Unknown: when the time is over and something may have been done.
        :raises Refused: when the time is over and nothing was done.
        """
        now = self._clock.seconds()
        if self._until is None:
            self._until = now + self._patience
        if now + self._pause > self._until:
            if self._in_doubt or self._last is None:
                raise Unknown(self._key, self.why)
            raise Refused(self._last)
        waited: Deferred[None] = Deferred()
        self._clock.callLater(self._pause, waited.callback, None)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        await waited


# Items and payments


def row(name: str, price: Amount, cnt: Amount = 1, *, code: str = "", taxgrp: int | str = "", **more: Any) -> Members:
    """One item of a receipt."""
    return {"code": code, "name": name, "cnt": _decimal(cnt), "price": _decimal(price), "taxgrp": taxgrp, **more}


def cash(amount: Amount) -> Members:
    """Cash as it was handed over; the change is calculated from it."""
    return {"type": 0, "sum": _decimal(amount)}


def card(amount: Amount, **of_terminal: Any) -> Members:
    """A payment by card, with ``paysys``, ``rrn``, ``cardmask`` and so on from the terminal."""
    return {"type": 2, "sum": _decimal(amount), **of_terminal}


def paid(answer: Answer) -> Members:
    """The payment of a receipt from a terminal's ``answer``."""
    info = answer.info
    return card(
        info["sum"],
        paysys=info.get("paysys", ""),
        rrn=info.get("refundid", ""),
        cardmask=info.get("cardmask", ""),
        auth_code=info.get("payid", ""),
        term_id=info.get("term_id", ""),
        bank_name=info.get("bankname", ""),
    )


def total(rows: Iterable[Members]) -> Decimal:
    """The total of ``rows`` after their own discounts, in hryvnias."""
    return sum((_row_total(each) for each in rows), Decimal(0))


def _row_total(each: Members) -> Decimal:
    cost = _decimal(each.get("cost") or 0) or _kopecks(_decimal(each["price"]) * _decimal(each.get("cnt", 1)))
    return cost - sum((_discount(cost, given) for given in (each, *(each.get("discounts") or ()))), Decimal(0))


def _discount(cost: Decimal, given: Members) -> Decimal:
    value = _decimal(given.get("disc") or 0)
    return _kopecks(cost * value / 100) if int(given.get("disc_type") or 0) == 1 else value


def _receipt(rows: Iterable[Members], pays: Iterable[Members], more: Members) -> dict[str, Any]:
    sold = list(rows)
    return {"sum": total(sold), "rows": sold, "pays": list(pays), **more}


def _decimal(amount: Amount) -> Decimal:
    # By its shortest text, so that 0.1 is exactly a tenth.
    return amount if isinstance(amount, Decimal) else Decimal(str(amount))


def _kopecks(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _treq(clock: Any) -> Any:
    """What sends requests; without a pool, because a connection to a service that died is of no use."""
    return HTTPClient(Agent(clock, connectTimeout=5.0))
