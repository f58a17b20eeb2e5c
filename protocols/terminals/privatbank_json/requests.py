"""The primary methods: each occupies the terminal until its answer, and its class has the method's name.

See docs/reference/privatbank-json.md#methods. Amounts are kopecks; merchant ``"0"`` is the only one, or all of them
in a report. A field that is `None` is left out of the message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from protocols.terminals.privatbank_json.amounts import Kopecks, KopecksOrBlank
from protocols.terminals.privatbank_json.messages import PromptLine, Request
from protocols.terminals.typed_members import ONE_OR_ZERO, Members, Wire

EVERY_MERCHANT = "0"

INSTALMENTS = ("ServicePbP", "ServicePbPperiod", "ServiceInstantPbI", "ServicePbIAct", "ServicePbPAct")
"""Payments by instalments; service number and merchant are fixed in the firmware."""

INSTALMENT_REFUNDS = (
    "ServiceRefPbP",
    "ServicePartlyRefPbP",
    "ServiceRefPbPperiod",
    "ServicePartlyRefPbPperiod",
    "ServiceRefPbI",
    "ServicePartlyRefPbI",
    "ServiceRefPbIAct",
    "ServicePartlyRefPbIAct",
    "ServiceRefPbPAct",
    "ServicePartlyRefPbPAct",
)
"""Their refunds, whole and in part."""

_Number = Annotated[bool, ONE_OR_ZERO]


class Primary(Members):
    """A method that occupies the terminal."""

    moves_money: ClassVar[bool] = False
    """Whether a lost answer leaves something in doubt."""

    @property
    def method(self) -> str:
        """The name on the wire: that of the class, or of its service."""
        return str(getattr(self, "service", type(self).__name__))

    def request(self) -> Request:
        """This method as a message."""
        return Request(self.method, self.params() or None)


class Financial(Primary):
    """A method that moves money or closes the batch: never repeated on its own."""

    moves_money = True


class PingDevice(Primary):
    """Ask whether the terminal is free and ready; a busy one answers ``deviceBusy``."""


class CheckConnection(Primary):
    """Try the line to the bank; the terminal shows its merchants and the cashier picks one."""


class GetTerminalInfo(Primary):
    """Ask for the ``version``: software, merchant and serial number."""


@dataclass(frozen=True)
class Purchase(Financial):
    """Take money from a card. Discount, merchant and facepay are always sent: some models refuse without."""

    amount: Kopecks
    discount: KopecksOrBlank = None
    merchant_id: str = EVERY_MERCHANT
    facepay: bool = False
    sub_merchant: str | None = None
    """Only when the bank enabled it."""


@dataclass(frozen=True)
class Refund(Financial):
    """Give money back on a presented card, by the RRN of the purchase."""

    amount: Kopecks
    discount: KopecksOrBlank = None
    merchant_id: str = EVERY_MERCHANT
    rrn: str = field(kw_only=True)
    sub_merchant: str | None = None


@dataclass(frozen=True)
class Withdrawal(Financial):
    """Cancel an operation of the open batch as a whole."""

    invoice_number: str


@dataclass(frozen=True)
class WithdrawalPartly(Financial):
    """Cancel a part of an operation of the open batch."""

    amount: Kopecks
    invoice_number: str


class ReadCardDiscount(Primary):
    """Read a discount card: the answer is a `DiscountCard`."""


class ReadCardBank(Primary):
    """Read a bank card; its data depend on the firmware."""


@dataclass(frozen=True)
class GetBalance(Primary):
    """Ask for the balance of a card."""

    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class ServiceRefund(Financial):
    """Give money back through the bank's refund service."""

    amount: Kopecks
    rrn: str
    sub_merchant: str | None = None


@dataclass(frozen=True)
class Instalments(Financial):
    """Take money by instalments; the agreement's number comes in ``hstFld63Sf89``."""

    amount: Kopecks
    amount_of_parts: int
    sub_merchant: str | None = None
    service: str = field(default="ServicePbP", metadata={"apart": True})
    """One of `INSTALMENTS`."""


@dataclass(frozen=True)
class InstalmentsRefund(Financial):
    """Give money of an instalment agreement back."""

    amount: Kopecks
    agreement_num: str
    service: str = field(default="ServiceRefPbP", metadata={"apart": True})
    """One of `INSTALMENT_REFUNDS`."""


@dataclass(frozen=True)
class ServiceGeneric(Financial):
    """Run any service of the bank by its number."""

    amount: Kopecks
    param: str
    srv_num: str
    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class Cashback(Financial):
    """Take money for goods and give cash; the answer's amount is both together."""

    amount: Kopecks
    amount_cash: Kopecks
    merchant_id: str = EVERY_MERCHANT
    sub_merchant: str | None = None


@dataclass(frozen=True)
class Audit(Primary):
    """Print the totals and leave the batch open."""

    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class Verify(Financial):
    """Close the batch and print its totals; an empty batch is refused with 0001."""

    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class VerifyCopy(Primary):
    """Print the last general report again."""

    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class PrintReceiptNum(Primary):
    """Ask for a slip of the open batch, the last one when the number is blank or 0."""

    invoice_number: str = ""
    prn_flag: _Number = False
    """Whether the terminal prints it too."""


@dataclass(frozen=True)
class PrintBatchJournal(Primary):
    """Ask for the journal of the open batch."""

    merchant_id: str = EVERY_MERCHANT
    prn_flag: _Number = True


@dataclass(frozen=True)
class GetReceiptInfo(Primary):
    """Query an operation of the open batch, the last one when the number is blank or 0.

    ``responseCode`` of the answer belongs to that operation, ``error`` to this query.
    """

    invoice_number: str = ""


@dataclass(frozen=True)
class Prompted(Primary):
    """A method that shows lines on the terminal; they are beside ``params``."""

    prompt: tuple[PromptLine, ...] = field(default=(), metadata={"apart": True}, kw_only=True)

    def request(self) -> Request:
        """This method as a message."""
        return Request(self.method, self.params() or None, self.prompt)


@dataclass(frozen=True)
class ReadBonusCard(Prompted):
    """Read a bonus card, with its PIN where asked; ``timeout`` in ms."""

    enter_pin: Annotated[bool, Wire(ONE_OR_ZERO.write, ONE_OR_ZERO.read, "enterPIN")] = False
    timeout: int = 60_000
    attempt: int | None = None


@dataclass(frozen=True)
class GetPinBonusCard(Prompted):
    """Ask for the PIN of a bonus card."""

    timeout: int = 60_000
    attempt: int | None = None


class PinChangeBonusCard(GetPinBonusCard):
    """Let the customer change the PIN of a bonus card."""


@dataclass(frozen=True)
class GetPhoneNumber(Primary):
    """Let the customer enter a phone number, on the ``Terminal`` or the ``PinPad``."""

    device_type: str = "Terminal"


@dataclass(frozen=True)
class GetOTPpassword(Primary):
    """Let the customer enter a one-time password; ``timeout`` in ms."""

    timeout: int = 60_000
    device_type: str = "Terminal"


@dataclass(frozen=True)
class Preauthorization(Financial):
    """Reserve an amount on a card."""

    amount: Kopecks
    merchant_id: str = EVERY_MERCHANT


@dataclass(frozen=True)
class SaleCompletion(Financial):
    """Take the final amount, ``addamount``, of a reservation of ``amount``."""

    amount: Kopecks
    addamount: Kopecks
    approval_code: str
    rrn: str | None = None


def _named(*classes: type[Primary]) -> dict[str, type[Primary]]:
    return {cls.__name__: cls for cls in classes}


METHODS: dict[str, type[Primary]] = {
    **_named(PingDevice, CheckConnection, GetTerminalInfo, Purchase, Refund, Withdrawal, WithdrawalPartly),
    **_named(ReadCardDiscount, ReadCardBank, GetBalance, ServiceRefund, ServiceGeneric, Cashback, Audit, Verify),
    **_named(VerifyCopy, PrintReceiptNum, PrintBatchJournal, GetReceiptInfo, ReadBonusCard, GetPinBonusCard),
    **_named(PinChangeBonusCard, GetPhoneNumber, GetOTPpassword, Preauthorization, SaleCompletion),
    **dict.fromkeys(INSTALMENTS, Instalments),
    **dict.fromkeys(INSTALMENT_REFUNDS, InstalmentsRefund),
}
"""Every primary method by its name on the wire."""


def read_primary(request: Request) -> Primary:
    """The primary method that a message asks for.

    :raises LookupError: when there is no such method.
    :raises ValueError: when a member is missing or cannot be read.
    """
    cls = METHODS[request.method]
    apart: dict[str, object] = {}
    if cls in (Instalments, InstalmentsRefund):
        apart["service"] = request.method
    if issubclass(cls, Prompted):
        apart["prompt"] = request.prompt
    return cls.read(request.params or {}, **apart)
