"""The methods of a terminal: each class has the method's name (docs/reference/ssi-json.md#methods).

Sums are kopecks. A field that is `None` is left out of the message. ``transaction_uid`` is our own id of the
operation, by which it can be found after a lost answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocols.terminals.ssi_json.messages import HRYVNIA, Request
from protocols.terminals.typed_members import Members


class Method(Members):
    """A method that the terminal answers at once."""

    def request(self, step: str = "") -> Request:
        """This method as a message."""
        return Request(type(self).__name__, self.params() or None, step)


class Operation(Method):
    """A method that the terminal acknowledges and then runs; it is never repeated on its own."""

    @property
    def uid(self) -> str:
        """Our id of it, empty without one."""
        return str(getattr(self, "transaction_uid", None) or "")


class PingDevice(Method):
    """Check that the terminal answers."""


class GetTerminalInfo(Method):
    """Ask for model and serial number; the members differ between Android and Linux."""


class GetMerchantListDetailed(Method):
    """Ask for the merchants."""


class GetStatus(Method):
    """Query the terminal's status."""


@dataclass(frozen=True)
class GetResultByUid(Method):
    """Query the operation with this id."""

    transaction_uid: str


class GetLastResult(Method):
    """Query the last operation of any client."""


class GetLastReceipt(Method):
    """Ask for the slip of the last operation."""


class GetLastReport(Method):
    """Ask for the last report."""


class GetLastReportReceipt(Method):
    """Ask for the slip of the last report."""


class Interrupt(Method):
    """Ask the operation to stop; accepted while it waits for a card or the second step."""


@dataclass(frozen=True)
class Purchase(Operation):
    """Take money from a card, in one step or two."""

    trans_amount: int
    trans_currency: str = HRYVNIA
    merchant_id: str = field(kw_only=True)
    terminal_id: str | None = None
    transaction_uid: str | None = None
    discounted_amount: int | None = None
    """With the second step: the sum to take instead."""


@dataclass(frozen=True)
class Refund(Operation):
    """Give money back by the RRN of the purchase."""

    trans_amount: int
    trans_currency: str = HRYVNIA
    merchant_id: str = field(kw_only=True)
    rrn: str = field(kw_only=True)
    transaction_uid: str | None = None


@dataclass(frozen=True)
class Void(Operation):
    """Cancel an operation of the open batch."""

    invoice_num: str
    transaction_uid: str | None = None


@dataclass(frozen=True)
class CashBack(Operation):
    """Take money for goods and give cash."""

    trans_amount: int
    cash_amount: int
    trans_currency: str = HRYVNIA
    merchant_id: str = field(kw_only=True)
    transaction_uid: str | None = None


@dataclass(frozen=True)
class Preauthorization(Operation):
    """Reserve an amount on a card."""

    trans_amount: int
    trans_currency: str = HRYVNIA
    merchant_id: str = field(kw_only=True)
    transaction_uid: str | None = None


@dataclass(frozen=True)
class SalePreauth(Operation):
    """Take the final amount, ``end_amount``, of a reservation."""

    trans_amount: int
    auth_code: str
    end_amount: int
    merchant_id: str
    rrn: str
    transaction_uid: str | None = None


@dataclass(frozen=True)
class VoidPreauth(Operation):
    """Release a reservation."""

    invoice_num: str
    transaction_uid: str | None = None


@dataclass(frozen=True)
class Echo(Operation):
    """Try the connection to the bank."""

    merchant_id: str


@dataclass(frozen=True)
class XReport(Operation):
    """Print the totals and leave the batch open."""

    merchant_id: str
    is_detail_report: bool | None = None


@dataclass(frozen=True)
class ZReport(Operation):
    """Close the batch and print its totals."""

    merchant_id: str


METHODS: dict[str, type[Method]] = {
    cls.__name__: cls
    for cls in (
        *(PingDevice, GetTerminalInfo, GetMerchantListDetailed, GetStatus, GetResultByUid, GetLastResult),
        *(GetLastReceipt, GetLastReport, GetLastReportReceipt, Interrupt),
        *(Purchase, Refund, Void, CashBack, Preauthorization, SalePreauth, VoidPreauth, Echo, XReport, ZReport),
    )
}
"""Every method by its name on the wire."""


def read_method(request: Request) -> Method:
    """The method that a message asks for.

    :raises LookupError: when there is no such method.
    :raises ValueError: when a member is missing or cannot be read.
    """
    return METHODS[request.method].read(request.params or {})
