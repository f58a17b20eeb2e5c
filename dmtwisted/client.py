"""A client that does the retry right: one call, one receipt, whatever breaks in between.

    client = Client("http://localhost:3939", source="till 1")
    sold = await client.sell("test", [row("Кава", 125.5, taxgrp=1)], [cash(200)], tag=order.uuid)
    print(sold.fiscal_number)

What a program has to know is said by three exceptions, and nothing else comes out of a call:

============= ================================================ ==================================================
exception     what is certain                                  what the program does
============= ================================================ ==================================================
`Refused`     it was not done                                  show ``errortxt``, correct, ask anew
`Unknown`     nothing: no clear answer came for long enough    ask again with the same key, at any later time
`TagReused`   the key stands for another receipt               a fault of the program: a key is for one use
============= ================================================ ==================================================

The key (``tag`` of a receipt, ``transaction_id`` of a payment) is the whole secret. Keep it before the call, give it
to the call, and after a crash of the program call again with the same key and the same content.
`docs/integrating.md` tells the rules that are kept here.
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
"""Seconds to wait for an answer (specification 4.7); a terminal's are its own wait and ten more."""

PATIENCE = 90.0
"""Seconds after the first lost answer, or the first refusal that a repeat may cure, until a call gives up."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0
"""Seconds between two tries; each pause is twice the one before."""

DONE, REPEAT, UNCLEAR, CORRECT = 0, 1, 2, 3
"""Values of ``res_action`` (specification 3.2)."""

_OPEN_ALREADY, _NO_SUCH_TAG, _NO_SUCH_OPERATION, _TAG_KNOWN = 1096, 1058, 5013, 1051
_BUSY, _NOT_STORED, _TERMINAL_BUSY, _INTERNAL, _NOT_TAKEN = 1105, 1082, 5022, 1016, 5014

_TELLS_NOTHING = frozenset({_BUSY, _NOT_STORED, _TERMINAL_BUSY})
"""Refusals of a try that say nothing of the one before."""

_NEVER_TAKEN = frozenset({_NOT_TAKEN, _TERMINAL_BUSY})
"""Stored refusals by which a terminal certainly took nothing, and may take the same another time."""

_STORED = 17
"""The task of a terminal that tells a stored operation (specification 4.4)."""

Amount = Decimal | int | float | str
Members = Mapping[str, Any]

_encode = msgspec.json.Encoder(decimal_format="number").encode
_decode = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode


@dataclass(frozen=True)
class Answer:
    """What a task was answered; ``members`` are all of it, numbers with a fraction as `Decimal`."""

    members: dict[str, Any] = field(repr=False)

    @property
    def res(self) -> int:
        """The result code; 0 is success."""
        return int(self.members.get("res", -1))

    @property
    def task(self) -> int:
        """The task that this is the answer to; of a stored answer the task that it was stored for."""
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
        """What the device told."""
        told: dict[str, Any] = self.members.get("info") or {}
        return told

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """``warnings``: ``code`` and ``wtxt``."""
        told: list[dict[str, Any]] = self.members.get("warnings") or []
        return told

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
        """Whether it was done before, by an earlier try or an earlier call."""
        return self.members.get("task_status") == 2

    @property
    def fiscal_number(self) -> str:
        """The number that the tax service gave."""
        return str(self.info.get("doccode", ""))


class ClientError(Exception):
    """A call that did not bring what was asked for."""


class Refused(ClientError):
    """It was not done; ``answer`` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.res}: {answer.text}")
        self.answer = answer


class Unknown(ClientError):
    """Nobody could tell whether it was done; ``key`` is the tag or transaction_id to ask again with."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
        self.key, self.why = key, why


class TagReused(ClientError):
    """The tag was used before for other content: ``answer`` is that receipt's, and nothing was done now."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the tag {answer.tag} stands for another receipt, {answer.fiscal_number}")
        self.answer = answer


class Client:
    """A till's end of the interface.

    :param url: where the service is: ``http://localhost:3939``.
    :param source: the name of the calling program, for logs.
    :param api_key: for a hardened service (docs/security.md).
    :param language: ``uk`` or ``en``: in which ``errortxt`` is told.
    :param patience: seconds after which a call gives up that gets no clear answer.
    :param terminal_wait: seconds to wait for a terminal: its ``wait_s`` and ten more.
    :param http: what sends requests, as `treq` does.
    :param clock: what time goes by.
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
        """Open the shift; `None` when it is open already.

        :raises ClientError: as described above.
        """
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

        :param tag: the key of this sale, kept by the caller before the call; one of ours when empty.
        :param printed: print it too (``/dm/execute-prn``).
        :param batch: take the card payment too (``/dm/execute-pkg``): card, receipt and paper as one act.
        :param receipt: further members of the receipt, such as ``disc`` or ``comment_up``; ``sum`` is reckoned.
        :raises ClientError: as described above.
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
        """One return, fiscalised once; as `sell`.

        :raises ClientError: as described above.
        """
        path = "/dm/execute-prn" if printed else "/dm/execute"
        return await self.fiscal(
            device, 2, tag=tag, cashier=cashier, path=path, receipt=_receipt(rows, pays, receipt)
        )

    async def close_shift(self, device: str, cashier: str = "", *, tag: str = "") -> Answer:
        """The Z-report, which closes the shift.

        :raises ClientError: as described above.
        """
        return await self.fiscal(device, 11, tag=tag, cashier=cashier)

    async def look_up(self, device: str, tag: str) -> Answer | None:
        """The stored answer for ``tag``; `None` when nothing was done under it.

        :raises ClientError: as described above.
        """
        try:
            return await self._registered({"device": device, "type": 0, "tag": tag}, tag, "/dm/execute")
        except Refused as refused:
            if refused.answer.res == _NO_SUCH_TAG:
                return None
            raise

    async def fiscal(
        self, device: str, task: int, *, tag: str = "", path: str = "/dm/execute", **members: Any
    ) -> Answer:
        """Any task of a register; ``members`` lie in ``fiscal``.

        :raises ClientError: as described above.
        """
        tag = tag or str(uuid.uuid4())
        body = {"device": device, "tag": tag, "type": 1, "fiscal": {"task": task, **members}}
        return await self._registered(body, tag, path)

    async def _registered(self, body: dict[str, Any], tag: str, path: str) -> Answer:
        """Ask until there is a clear answer, always with the same tag."""
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
        """One payment by card, taken once. ``info.sum`` of the answer is what was taken: it may be less.

        :param transaction_id: the key of this payment, a UUID kept by the caller before the call.
        :param members: further members of ``pay``, such as ``merch``.
        :raises ClientError: as described above.
        """
        return await self.terminal(device, 1, transaction_id=transaction_id, sum=amount, **members)

    async def refund(
        self, device: str, amount: Amount, rrn: str, *, transaction_id: str = "", **members: Any
    ) -> Answer:
        """Give money back to the card; ``rrn`` is ``info.refundid`` of the payment.

        :raises ClientError: as described above.
        """
        return await self.terminal(device, 2, transaction_id=transaction_id, sum=amount, refundid=rrn, **members)

    async def cancel(self, device: str, cancelid: str, *, transaction_id: str = "", **members: Any) -> Answer:
        """Cancel an operation of the open batch; ``cancelid`` is ``info.cancelid`` of its answer.

        :raises ClientError: as described above.
        """
        return await self.terminal(device, 3, transaction_id=transaction_id, cancelid=cancelid, **members)

    async def look_up_payment(self, device: str, transaction_id: str) -> Answer | None:
        """The stored answer of an operation, also of a refused one; `None` when there was none.

        :raises Unknown: when nobody can tell now.
        """
        tries = _Tries(self._clock, self._patience, transaction_id)
        return await self._stored(device, transaction_id, tries)

    async def terminal(self, device: str, task: int, *, transaction_id: str = "", **members: Any) -> Answer:
        """Any task of a terminal that moves money; ``members`` lie in ``pay``.

        Where it is certain that the terminal never took the request (5014, or 5022 that is stored), it is asked
        again under a label that follows from the first one, for a stored refusal stays the answer of its label: so a
        call with the same key finds it, whichever try it was.

        :raises ClientError: as described above.
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
                # The customer may have paid: first ask what became of it, and only then ask for money. Whether a
                # refusal for being busy is this label's answer from now on can be told by nothing else either.
                answer = await self._stored(device, label, tries)
            if answer is not None:
                if answer.action == DONE:
                    return answer
                tries.heard(answer)
                if answer.res in _NEVER_TAKEN:
                    label = str(uuid.uuid5(uuid.UUID(label), "again")) if _is_uuid(label) else f"{label}+"
                elif answer.res not in _TELLS_NOTHING:
                    raise Refused(answer)
            await tries.pause()

    async def _stored(self, device: str, label: str, tries: _Tries) -> Answer | None:
        """What became of the operation ``label``, asked until somebody knows; `None` when there was none."""
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
        """Print lines. It is asked once: what may be on paper is not printed again by itself.

        :raises Refused: when it was not printed.
        :raises Unknown: when the paper has to be looked at.
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
        """One try: the answer, or `None` when there is none that could be trusted."""
        raw = _encode({"ver": 6, "source": self._source, **body})
        try:
            status, told = await Deferred.fromCoroutine(self._sent(path, raw)).addTimeout(wait, self._clock)
            answer = Answer(_decode(told))
        except Exception as error:
            # No connection, a broken one, silence, or the answer of something that is not the service.
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
    """How a call stands: whether something may have been done, and how long it still goes on."""

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
        """A try with an answer that was no end."""
        self._last, self.why = answer, f"{answer.res}: {answer.text}"
        if answer.action == UNCLEAR or answer.res == _INTERNAL:
            self._in_doubt = True
        elif answer.res not in _TELLS_NOTHING:
            self._in_doubt = False

    def settled(self) -> None:
        """It is certain that nothing was done so far."""
        self._in_doubt = False

    async def pause(self) -> None:
        """Wait before the next try.

        :raises Unknown: when it has gone on long enough, and something may have been done.
        :raises Refused: when it has gone on long enough, and nothing was done.
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


# What is sold and how it is paid


def row(name: str, price: Amount, cnt: Amount = 1, *, code: str = "", taxgrp: int | str = "", **more: Any) -> Members:
    """One item of a receipt."""
    return {"code": code, "name": name, "cnt": _decimal(cnt), "price": _decimal(price), "taxgrp": taxgrp, **more}


def cash(amount: Amount) -> Members:
    """Cash as it was handed over; what is too much is the change."""
    return {"type": 0, "sum": _decimal(amount)}


def card(amount: Amount, **of_terminal: Any) -> Members:
    """A payment by card: ``paysys``, ``rrn``, ``cardmask`` and so on as the terminal told them."""
    return {"type": 2, "sum": _decimal(amount), **of_terminal}


def paid(answer: Answer) -> Members:
    """The payment of a receipt that a terminal's ``answer`` stands for."""
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
    """What ``rows`` come to after their own discounts, in hryvnias."""
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
    # By way of its shortest spelling: 0.1 is a tenth, whatever the machine makes of it.
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
