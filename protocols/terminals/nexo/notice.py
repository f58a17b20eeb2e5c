"""Messages that terminals send on their own: steps of an operation, and events.

See docs/reference/nexo.md#notices.

The step of an operation comes as a request to show something to the cashier. Its header has the operation's own
ServiceID; the step is among the values of a reference, written as the query of a URL::

    {"SaleToPOIRequest": {"MessageHeader": {"MessageClass": "Device", "MessageCategory": "Display",
                                            "ServiceID": "a1", "DeviceID": "7", …},
                          "DisplayRequest": {"DisplayOutput": [{"Device": "CashierDisplay", "InfoQualify": "Status",
                              "OutputContent": {"OutputFormat": "MessageRef", "PredefinedContent":
                                  {"ReferenceID": "TransactionID=…&TimeStamp=…&event=WAIT_FOR_PIN"}}}]}}}

Facts: Adyen's page on display notifications, and the helper for such references in its libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, urlencode

from protocols.errors import Garbled
from protocols.terminals.nexo.tree import VERSION, Tree, branch, branches, read, text, write

DISPLAY = "Display"
"""`Notice.event` of a display text."""


class Step(StrEnum):
    """A step of an operation."""

    TENDER_CREATED = "TENDER_CREATED"
    PROVIDE_CARD_DETAILS = "PROVIDE_CARD_DETAILS"
    CARD_DETAILS_PROVIDED = "CARD_DETAILS_PROVIDED"
    CARD_INSERTED = "CARD_INSERTED"
    CARD_PRESENTED = "CARD_PRESENTED"
    CARD_SWIPED = "CARD_SWIPED"
    WAIT_FOR_APP_SELECTION = "WAIT_FOR_APP_SELECTION"
    APPLICATION_SELECTED = "APPLICATION_SELECTED"
    ASK_DCC = "ASK_DCC"
    DCC_ACCEPTED = "DCC_ACCEPTED"
    DCC_REJECTED = "DCC_REJECTED"
    ASK_GRATUITY = "ASK_GRATUITY"
    GRATUITY_ENTERED = "GRATUITY_ENTERED"
    WAIT_FOR_PIN = "WAIT_FOR_PIN"
    PIN_ENTERED = "PIN_ENTERED"
    ASK_SIGNATURE = "ASK_SIGNATURE"
    CHECK_SIGNATURE = "CHECK_SIGNATURE"
    SIGNATURE_CHECKED = "SIGNATURE_CHECKED"
    PRINT_RECEIPT = "PRINT_RECEIPT"
    RECEIPT_PRINTED = "RECEIPT_PRINTED"
    CARD_REMOVED = "CARD_REMOVED"
    TENDER_FINAL = "TENDER_FINAL"
    BALANCE_QUERY_STARTED = "BALANCE_QUERY_STARTED"
    BALANCE_QUERY_COMPLETED = "BALANCE_QUERY_COMPLETED"
    LOAD_STARTED = "LOAD_STARTED"
    LOAD_COMPLETED = "LOAD_COMPLETED"


@dataclass(frozen=True)
class Notice:
    """A message that the terminal sends on its own: an event, or a text of its display.

    ``event`` is the name of an event (``Reject``, ``Shutdown``…), or `DISPLAY`; ``details`` its text.
    """

    event: str
    details: str = ""
    service_id: str = ""
    """The operation that it is about, if any."""
    step: str = ""
    """The step of the operation: a `Step`, or an unknown word."""

    def encode(self, poi_id: str) -> bytes:
        """The whole message of an event."""
        header = _header(poi_id, "Event", "Event", "Notification")
        notification = {"EventToNotify": self.event, "EventDetails": self.details}
        return write({"SaleToPOIRequest": {"MessageHeader": header, "EventNotification": notification}})

    @classmethod
    def decode(cls, message: bytes) -> Notice:
        """The notice in ``message``.

        :raises Garbled: when it is not a notice.
        """
        content = branch(read(message), "SaleToPOIRequest")
        if not content:
            raise Garbled("not a notice of a terminal")
        return cls.of(content)

    @classmethod
    def of(cls, content: Tree) -> Notice:
        """The notice with these members."""
        header = branch(content, "MessageHeader")
        service_id = text(header, "ServiceID")
        event = branch(content, "EventNotification")
        if event:
            return cls(text(event, "EventToNotify"), text(event, "EventDetails"), service_id)
        words: list[str] = []
        steps: list[str] = []
        for output in branches(branch(content, "DisplayRequest"), "DisplayOutput"):
            inner = branch(output, "OutputContent")
            words += [text(line, "Text") for line in branches(inner, "OutputText")]
            steps += _values(text(branch(inner, "PredefinedContent"), "ReferenceID")).get("event", [])
        details = " ".join(word for word in words if word)
        return cls(text(header, "MessageCategory"), details, service_id, steps[-1] if steps else "")


@dataclass(frozen=True)
class Shown:
    """A step of an operation, as the terminal sends it to the till."""

    step: Step
    service_id: str
    sale_id: str
    device_id: str
    """Of this message; each has another one."""
    transaction_id: str
    at: str
    """ISO 8601 with an offset."""

    def encode(self, poi_id: str) -> bytes:
        """The whole message."""
        header = {
            **_header(poi_id, "Device", DISPLAY, "Request"),
            "SaleID": self.sale_id,
            "ServiceID": self.service_id,
            "DeviceID": self.device_id,
        }
        reference = urlencode({"TransactionID": self.transaction_id, "TimeStamp": self.at, "event": str(self.step)})
        output = {
            "Device": "CashierDisplay",
            "InfoQualify": "Status",
            "OutputContent": {"OutputFormat": "MessageRef", "PredefinedContent": {"ReferenceID": reference}},
            "ResponseRequiredFlag": False,
        }
        return write({"SaleToPOIRequest": {"MessageHeader": header, "DisplayRequest": {"DisplayOutput": [output]}}})


def _header(poi_id: str, kind: str, category: str, message: str) -> dict[str, str]:
    return {
        "ProtocolVersion": VERSION,
        "MessageClass": kind,
        "MessageCategory": category,
        "MessageType": message,
        "POIID": poi_id,
    }


def _values(reference: str) -> dict[str, list[str]]:
    try:
        return parse_qs(reference, max_num_fields=50)
    except ValueError:
        return {}
