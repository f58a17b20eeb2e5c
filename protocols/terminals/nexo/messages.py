"""The messages of nexo, requests and answers alike, without their encryption (docs/reference/nexo.md#messages).

Each message makes the members of its ``…Request`` or ``…Response`` in `_body` and is made from them by `_of`, which
raises `Garbled` when a member that it must have is missing.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias, get_args
from urllib.parse import parse_qsl, quote

from protocols.errors import Garbled
from protocols.terminals.nexo.notice import Notice
from protocols.terminals.nexo.tree import (
    VERSION,
    Tree,
    as_tree,
    branch,
    branches,
    integer,
    minor,
    money,
    read,
    reported,
    text,
    write,
)

LONGEST_ID = 10
"""Characters of a ServiceID; one must not come again within about 48 hours."""


def new_service_id() -> str:
    """A unique identifier: ten random hexadecimal digits."""
    return secrets.token_hex(LONGEST_ID // 2)


class Category(StrEnum):
    """The kind of a message."""

    PAYMENT = "Payment"
    REVERSAL = "Reversal"
    STATUS = "TransactionStatus"
    ABORT = "Abort"
    CARD = "CardAcquisition"
    ENABLE = "EnableService"
    DIAGNOSIS = "Diagnosis"
    TOTALS = "GetTotals"
    RECONCILIATION = "Reconciliation"


class Result(StrEnum):
    """The result of a request."""

    SUCCESS = "Success"
    PARTIAL = "Partial"
    FAILURE = "Failure"


class Condition(StrEnum):
    """Why it failed (ErrorCondition)."""

    ABORTED = "Aborted"
    BUSY = "Busy"
    CANCEL = "Cancel"
    DEVICE_OUT = "DeviceOut"
    IN_PROGRESS = "InProgress"
    INSERTED_CARD = "InsertedCard"
    INVALID_CARD = "InvalidCard"
    LOGGED_OUT = "LoggedOut"
    MESSAGE_FORMAT = "MessageFormat"
    NOT_ALLOWED = "NotAllowed"
    NOT_FOUND = "NotFound"
    PAYMENT_RESTRICTION = "PaymentRestriction"
    REFUSAL = "Refusal"
    UNAVAILABLE_DEVICE = "UnavailableDevice"
    UNAVAILABLE_SERVICE = "UnavailableService"
    UNREACHABLE_HOST = "UnreachableHost"
    WRONG_PIN = "WrongPIN"


@dataclass(frozen=True)
class Header:
    """Sender, recipient and kind of a message; ``category`` is text, so that unknown ones can be shown."""

    category: str
    service_id: str
    sale_id: str
    poi_id: str
    """Model and serial number of the terminal: ``V400m-346403161``."""

    def tree(self, kind: str) -> Tree:
        """The members; ``kind`` is ``Request`` or ``Response``."""
        return {
            "ProtocolVersion": VERSION,
            "MessageClass": "Service",
            "MessageCategory": str(self.category),
            "MessageType": kind,
            "SaleID": self.sale_id,
            "ServiceID": self.service_id,
            "POIID": self.poi_id,
        }

    @classmethod
    def _of(cls, tree: Tree) -> Header:
        return cls(text(tree, "MessageCategory"), text(tree, "ServiceID"), text(tree, "SaleID"), text(tree, "POIID"))


@dataclass(frozen=True)
class Transaction:
    """The name of a transaction: the till's own, or the terminal's. ``at`` is ISO 8601 with an offset."""

    id: str
    at: str

    def _tree(self) -> Tree:
        return {"TransactionID": self.id, "TimeStamp": self.at}

    @classmethod
    def _of(cls, tree: Tree) -> Transaction:
        return cls(text(tree, "TransactionID"), text(tree, "TimeStamp"))


@dataclass(frozen=True)
class Reference:
    """The message that another one refers to."""

    category: str
    service_id: str
    sale_id: str

    def _tree(self) -> Tree:
        return {"MessageCategory": str(self.category), "SaleID": self.sale_id, "ServiceID": self.service_id}

    @classmethod
    def _of(cls, tree: Tree) -> Reference:
        return cls(text(tree, "MessageCategory"), text(tree, "ServiceID"), text(tree, "SaleID"))


# -- requests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Payment:
    """Take or give back an amount, in hundredths.

    ``sale`` names it in the till. ``refund`` gives money back on the card that is shown. ``card`` is the transaction
    of a card acquisition: that card pays and is not read again.
    """

    sale: Transaction
    amount: int
    currency: str
    refund: bool = False
    cash: int = 0
    """Part of the amount that is handed out in cash."""
    card: Transaction | None = None
    category: ClassVar[Category] = Category.PAYMENT

    def _body(self) -> Tree:
        amounts: dict[str, Any] = {"Currency": self.currency, "RequestedAmount": money(self.amount)}
        if self.cash:
            amounts["CashBackAmount"] = money(self.cash)
        data: dict[str, Any] = {"PaymentType": "Refund"} if self.refund else {}
        if self.card is not None:
            data["CardAcquisitionReference"] = self.card._tree()
        body = {
            "PaymentTransaction": {"AmountsReq": amounts},
            "SaleData": {"SaleTransactionID": self.sale._tree()},
        }
        return {**body, "PaymentData": data} if data else body

    @classmethod
    def _of(cls, body: Tree) -> Payment:
        amounts, data = branch(body, "PaymentTransaction", "AmountsReq"), branch(body, "PaymentData")
        amount = minor(amounts, "RequestedAmount")
        if amount is None:
            raise Garbled("a payment without an amount")
        card = branch(data, "CardAcquisitionReference")
        return cls(
            Transaction._of(branch(body, "SaleData", "SaleTransactionID")),
            amount,
            text(amounts, "Currency"),
            text(data, "PaymentType") == "Refund",
            minor(amounts, "CashBackAmount") or 0,
            Transaction._of(card) if card else None,
        )


@dataclass(frozen=True)
class Reversal:
    """Give the money of the terminal's transaction ``original`` back: all of it, or ``amount`` hundredths."""

    sale: Transaction
    original: Transaction
    amount: int | None = None
    category: ClassVar[Category] = Category.REVERSAL

    def _body(self) -> Tree:
        body = {
            "OriginalPOITransaction": {"POITransactionID": self.original._tree()},
            "ReversalReason": "MerchantCancel",
            "SaleData": {"SaleTransactionID": self.sale._tree()},
        }
        return body if self.amount is None else {**body, "ReversedAmount": money(self.amount)}

    @classmethod
    def _of(cls, body: Tree) -> Reversal:
        original = Transaction._of(branch(body, "OriginalPOITransaction", "POITransactionID"))
        sale = Transaction._of(branch(body, "SaleData", "SaleTransactionID"))
        return cls(sale, original, minor(body, "ReversedAmount"))


@dataclass(frozen=True)
class Status:
    """Query the outcome of a message; ``reprint`` requests the receipts with the answer."""

    about: Reference
    reprint: bool = True
    category: ClassVar[Category] = Category.STATUS

    def _body(self) -> Tree:
        reprint = {"ReceiptReprintFlag": True, "DocumentQualifier": ["CashierReceipt", "CustomerReceipt"]}
        return {**(reprint if self.reprint else {}), "MessageReference": self.about._tree()}

    @classmethod
    def _of(cls, body: Tree) -> Status:
        return cls(Reference._of(branch(body, "MessageReference")), body.get("ReceiptReprintFlag") is True)


@dataclass(frozen=True)
class Abort:
    """Ask an operation to stop; its own answer shows whether it did."""

    about: Reference
    category: ClassVar[Category] = Category.ABORT

    def _body(self) -> Tree:
        return {"AbortReason": "MerchantAbort", "MessageReference": self.about._tree()}

    @classmethod
    def _of(cls, body: Tree) -> Abort:
        return cls(Reference._of(branch(body, "MessageReference")))


@dataclass(frozen=True)
class ReadCard:
    """Ask for a card and keep it for a payment; ``loyalty`` requests the shop's own card."""

    sale: Transaction
    loyalty: bool = False
    category: ClassVar[Category] = Category.CARD

    def _body(self) -> Tree:
        transaction = {"LoyaltyHandling": "Required"} if self.loyalty else {}
        sale = {"SaleTransactionID": self.sale._tree()}
        return {"SaleData": sale, "CardAcquisitionTransaction": transaction}

    @classmethod
    def _of(cls, body: Tree) -> ReadCard:
        loyalty = text(branch(body, "CardAcquisitionTransaction"), "LoyaltyHandling") == "Required"
        return cls(Transaction._of(branch(body, "SaleData", "SaleTransactionID")), loyalty)


@dataclass(frozen=True)
class ReleaseCard:
    """Release the card that was read: no payment follows."""

    category: ClassVar[Category] = Category.ENABLE

    def _body(self) -> Tree:
        return {"TransactionAction": "AbortTransaction"}

    @classmethod
    def _of(cls, body: Tree) -> ReleaseCard:
        if text(body, "TransactionAction") != "AbortTransaction":
            raise Garbled("an unknown service")
        return cls()


@dataclass(frozen=True)
class Diagnose:
    """Query whether the terminal works, and with ``host`` whether it reaches its bank."""

    host: bool = False
    category: ClassVar[Category] = Category.DIAGNOSIS

    def _body(self) -> Tree:
        return {"HostDiagnosisFlag": self.host}

    @classmethod
    def _of(cls, body: Tree) -> Diagnose:
        return cls(body.get("HostDiagnosisFlag") is True)


@dataclass(frozen=True)
class GetTotals:
    """Ask for the sums of the open batch."""

    category: ClassVar[Category] = Category.TOTALS

    def _body(self) -> Tree:
        return {}

    @classmethod
    def _of(cls, body: Tree) -> GetTotals:
        return cls()


@dataclass(frozen=True)
class Reconcile:
    """Close the batch with the bank."""

    category: ClassVar[Category] = Category.RECONCILIATION

    def _body(self) -> Tree:
        return {"ReconciliationType": "SalesReconciliation"}

    @classmethod
    def _of(cls, body: Tree) -> Reconcile:
        return cls()


Request: TypeAlias = Payment | Reversal | Status | Abort | ReadCard | ReleaseCard | Diagnose | GetTotals | Reconcile

_REQUESTS: dict[str, type[Request]] = {each.category: each for each in get_args(Request)}


def encode_request(header: Header, request: Request) -> bytes:
    """The whole message."""
    content = {"MessageHeader": header.tree("Request"), f"{request.category}Request": request._body()}
    return write({"SaleToPOIRequest": content})


def decode_request(message: bytes) -> tuple[Header, Request]:
    """Header and request in ``message``, as the terminal reads them.

    :raises Garbled: for anything but a request of a known category.
    """
    content = branch(read(message), "SaleToPOIRequest")
    header = Header._of(branch(content, "MessageHeader"))
    kind = _REQUESTS.get(header.category)
    if kind is None or not header.service_id:
        raise Garbled(f"not a request: {header.category!r}")
    return header, kind._of(branch(content, f"{header.category}Request"))


# -- answers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Response:
    """The result, and the reason of a failure: ``condition`` is text, so that unknown ones can be shown."""

    result: Result
    condition: str = ""
    additional: str = ""
    """Details as they came (`details` reads them)."""

    @property
    def details(self) -> dict[str, str]:
        """The details by name: a list in the form of a URL's query, or a JSON object in base64."""
        decoded = _from_base64(self.additional)
        if decoded:
            return decoded
        return dict(parse_qsl(self.additional, keep_blank_values=True, errors="replace"))

    def _tree(self) -> Tree:
        members = {"ErrorCondition": str(self.condition), "AdditionalResponse": self.additional}
        return {"Result": str(self.result), **{name: value for name, value in members.items() if value}}

    @classmethod
    def _of(cls, body: Tree) -> Response:
        tree = branch(body, "Response")
        result = text(tree, "Result")
        if result not in {each.value for each in Result}:
            raise Garbled(f"an answer with the result {result!r}")
        return cls(Result(result), text(tree, "ErrorCondition"), text(tree, "AdditionalResponse"))


def _from_base64(additional: str) -> dict[str, str]:
    """The members of a JSON object in base64, with one level of inner objects; empty when it is not one."""
    try:
        tree = read(base64.b64decode(additional, validate=True))
    except (binascii.Error, ValueError, Garbled):
        return {}
    found: dict[str, str] = {}
    for name, value in tree.items():
        inner = as_tree(value)
        found |= {each: text(inner, each) for each in inner} if inner else {name: text(tree, name)}
    return found


@dataclass(frozen=True)
class Receipt:
    """A receipt that the till may print; ``kind`` is ``CashierReceipt`` or ``CustomerReceipt``."""

    kind: str
    lines: tuple[str, ...] = field(repr=False)

    def _tree(self) -> Tree:
        lines = [{"Text": f"name={quote(line)}"} for line in self.lines]
        return {"DocumentQualifier": self.kind, "OutputContent": {"OutputFormat": "Text", "OutputText": lines}}

    @classmethod
    def _of(cls, tree: Tree) -> Receipt:
        lines = branches(branch(tree, "OutputContent"), "OutputText")
        return cls(text(tree, "DocumentQualifier"), tuple(_line(text(line, "Text")) for line in lines))


def _line(written: str) -> str:
    """A line of a receipt: plain, or name and value in the form of a URL's query."""
    named = dict(parse_qsl(written, keep_blank_values=True, errors="replace"))
    if "name" not in named:
        return "" if named.keys() & {"key", "filler"} else written
    return f"{named['name']} {named.get('value', '')}".rstrip()


@dataclass(frozen=True)
class PaymentAnswer:
    """The final answer to a payment or a reversal.

    ``approved_amount`` is what was approved, in hundredths; `None` when it is missing, `NOT_A_SUM` when it cannot be
    read. ``transaction`` is the terminal's own name for it: what a reversal names.
    """

    response: Response
    sale: Transaction | None = None
    transaction: Transaction | None = None
    approved_amount: int | None = None
    cash: int = 0
    currency: str = ""
    approval_code: str = ""
    masked_pan: str = field(default="", repr=False)
    brand: str = ""
    entry_modes: tuple[str, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    category: Category = Category.PAYMENT

    @property
    def approved(self) -> bool:
        """Whether money moved; with `Result.PARTIAL` less than requested."""
        return self.response.result is not Result.FAILURE

    @property
    def card(self) -> str:
        """The card's number as the terminal masked it; digits between six first and four last are starred out."""
        pan = "".join(self.masked_pan.split())
        if len(pan) <= 10:
            return pan
        return pan[:6] + "".join("*" if each.isdigit() else each for each in pan[6:-4]) + pan[-4:]

    def _body(self) -> Tree:
        body: dict[str, Any] = {"Response": self.response._tree()}
        if self.sale is not None:
            body["SaleData"] = {"SaleTransactionID": self.sale._tree()}
        if self.transaction is not None:
            body["POIData"] = {"POITransactionID": self.transaction._tree()}
        if self.category is Category.REVERSAL:
            if self.approved_amount is not None:
                body["ReversedAmount"] = money(self.approved_amount)
        elif self.approved_amount is not None or self.masked_pan:
            body["PaymentResult"] = self._result()
        if self.receipts:
            body["PaymentReceipt"] = [receipt._tree() for receipt in self.receipts]
        return body

    def _result(self) -> Tree:
        amounts: dict[str, Any] = {"Currency": self.currency}
        if self.approved_amount is not None:
            amounts["AuthorizedAmount"] = money(self.approved_amount)
        if self.cash:
            amounts["CashBackAmount"] = money(self.cash)
        card = {"MaskedPan": self.masked_pan, "PaymentBrand": self.brand, "EntryMode": list(self.entry_modes)}
        return {
            "AmountsResp": amounts,
            "PaymentAcquirerData": {"ApprovalCode": self.approval_code},
            "PaymentInstrumentData": {"PaymentInstrumentType": "Card", "CardData": card},
        }

    @classmethod
    def _of(cls, body: Tree, category: Category = Category.PAYMENT) -> PaymentAnswer:
        result = branch(body, "PaymentResult")
        amounts = branch(result, "AmountsResp")
        card = branch(result, "PaymentInstrumentData", "CardData")
        sale, transaction = branch(body, "SaleData", "SaleTransactionID"), branch(body, "POIData", "POITransactionID")
        modes = card.get("EntryMode")
        reversal = category is Category.REVERSAL
        return cls(
            Response._of(body),
            Transaction._of(sale) if sale else None,
            Transaction._of(transaction) if transaction else None,
            reported(body, "ReversedAmount") if reversal else reported(amounts, "AuthorizedAmount"),
            minor(amounts, "CashBackAmount") or 0,
            text(amounts, "Currency"),
            text(branch(result, "PaymentAcquirerData"), "ApprovalCode"),
            text(card, "MaskedPan"),
            text(card, "PaymentBrand"),
            tuple(mode for mode in (modes if isinstance(modes, list) else [modes]) if isinstance(mode, str)),
            tuple(Receipt._of(receipt) for receipt in branches(body, "PaymentReceipt")),
            category,
        )


@dataclass(frozen=True)
class StatusAnswer:
    """The outcome of a message: its own answer once more, if there is one."""

    response: Response
    repeated: PaymentAnswer | None = None
    repeats: Header | None = None
    """The header of the repeated answer."""
    category: ClassVar[Category] = Category.STATUS

    def _body(self) -> Tree:
        body: dict[str, Any] = {"Response": self.response._tree()}
        if self.repeated is not None:
            inner = {f"{self.repeated.category}Response": self.repeated._body()}
            repeated: dict[str, Any] = {"RepeatedResponseMessageBody": inner}
            if self.repeats is not None:
                repeated["MessageHeader"] = self.repeats.tree("Response")
            body["RepeatedMessageResponse"] = repeated
        return body

    @classmethod
    def _of(cls, body: Tree) -> StatusAnswer:
        message = branch(body, "RepeatedMessageResponse")
        inner, header = branch(message, "RepeatedResponseMessageBody"), branch(message, "MessageHeader")
        repeated = None
        for category in (Category.PAYMENT, Category.REVERSAL):
            if f"{category}Response" in inner:
                repeated = PaymentAnswer._of(branch(inner, f"{category}Response"), category)
        return cls(Response._of(body), repeated, Header._of(header) if header else None)


@dataclass(frozen=True)
class CardAnswer:
    """The card that was read; a payment with it refers to ``transaction``."""

    response: Response
    transaction: Transaction | None = None
    masked_pan: str = field(default="", repr=False)
    brand: str = ""
    category: ClassVar[Category] = Category.CARD

    def _body(self) -> Tree:
        body: dict[str, Any] = {"Response": self.response._tree()}
        if self.transaction is not None:
            card = {"MaskedPan": self.masked_pan, "PaymentBrand": self.brand}
            body["POIData"] = {"POITransactionID": self.transaction._tree()}
            body["PaymentInstrumentData"] = {"PaymentInstrumentType": "Card", "CardData": card}
        return body

    @classmethod
    def _of(cls, body: Tree) -> CardAnswer:
        transaction = branch(body, "POIData", "POITransactionID")
        card = branch(body, "PaymentInstrumentData", "CardData")
        named = Transaction._of(transaction) if transaction else None
        return cls(Response._of(body), named, text(card, "MaskedPan"), text(card, "PaymentBrand"))


@dataclass(frozen=True)
class Total:
    """One sum: what kind of transaction (``Debit``, ``Credit``, ``ReverseDebit``…), how many, hundredths."""

    kind: str
    count: int
    amount: int
    currency: str = ""


@dataclass(frozen=True)
class TotalsAnswer:
    """The sums of a batch, open (`Category.TOTALS`) or just closed (`Category.RECONCILIATION`)."""

    response: Response
    totals: tuple[Total, ...] = ()
    category: Category = Category.TOTALS

    def _body(self) -> Tree:
        groups = [
            {
                "PaymentInstrumentType": "Card",
                "PaymentCurrency": total.currency,
                "PaymentTotals": [
                    {
                        "TransactionType": total.kind,
                        "TransactionCount": total.count,
                        "TransactionAmount": money(total.amount),
                    }
                ],
            }
            for total in self.totals
        ]
        body: dict[str, Any] = {"Response": self.response._tree()}
        if groups:
            body["TransactionTotals"] = groups
        return body

    @classmethod
    def _of(cls, body: Tree, category: Category = Category.TOTALS) -> TotalsAnswer:
        totals: list[Total] = []
        for group in branches(body, "TransactionTotals"):
            for each in branches(group, "PaymentTotals"):
                amount = minor(each, "TransactionAmount")
                if amount is None:
                    raise Garbled("a sum that is not an amount")
                count = integer(each, "TransactionCount")
                totals.append(Total(text(each, "TransactionType"), count, amount, text(group, "PaymentCurrency")))
        return cls(Response._of(body), tuple(totals), category)


@dataclass(frozen=True)
class PlainAnswer:
    """An answer with a result only."""

    response: Response
    category: Category

    def _body(self) -> Tree:
        return {"Response": self.response._tree()}


NexoAnswer: TypeAlias = PaymentAnswer | StatusAnswer | CardAnswer | TotalsAnswer | PlainAnswer


def encode_answer(header: Header, answer: NexoAnswer) -> bytes:
    """The whole message; ``header`` is that of the request."""
    content = {"MessageHeader": header.tree("Response"), f"{answer.category}Response": answer._body()}
    return write({"SaleToPOIResponse": content})


def decode_answer(message: bytes) -> tuple[Header, NexoAnswer]:
    """Header and answer in ``message``, as the till reads them.

    :raises Garbled: for anything but an answer with a result; the text of a `Notice` is in the error.
    """
    document = read(message)
    if "SaleToPOIRequest" in document:
        notice = Notice.of(branch(document, "SaleToPOIRequest"))
        raise Garbled(f"instead of an answer the terminal sent {notice.event}: {notice.details}")
    content = branch(document, "SaleToPOIResponse")
    header = Header._of(branch(content, "MessageHeader"))
    body = branch(content, f"{header.category}Response")
    match header.category:
        case Category.PAYMENT | Category.REVERSAL:
            return header, PaymentAnswer._of(body, Category(header.category))
        case Category.STATUS:
            return header, StatusAnswer._of(body)
        case Category.CARD:
            return header, CardAnswer._of(body)
        case Category.TOTALS | Category.RECONCILIATION:
            return header, TotalsAnswer._of(body, Category(header.category))
        case Category.ABORT | Category.ENABLE | Category.DIAGNOSIS:
            return header, PlainAnswer(Response._of(body), Category(header.category))
    raise Garbled(f"an answer about {header.category!r}")
