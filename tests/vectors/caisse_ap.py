"""Messages of Caisse-AP over IP, captured between the simulator and the client of akretion/caisse-ap-ip."""

from __future__ import annotations

from typing import NamedTuple

from protocols.errors import Garbled
from protocols.terminals.caisse_ap import Action, CaisseApAnswer, CaisseApRequest, Deframer, Detail, Done, Fields

DEBIT = CaisseApRequest(Action.DEBIT, 1234, protocol_id="012345678901")
CREDIT = CaisseApRequest(Action.CREDIT, 500, protocol_id="012345678901")
APPROVED = CaisseApAnswer(
    DEBIT,
    Done.DONE,
    application="001",
    read_mode="1",
    authorisation="292869",
    pan="837662######5710",
    aid="A00000000687774178256",
    expiry="2710",
    contract="424242",
    more={"CF": "1010000000"},
)
NOBODY_CAME = CaisseApAnswer(CREDIT, Done.NOT_DONE, Detail.INPUT_TIMEOUT, "08")


class Message(NamedTuple):
    """A whole message and its meaning."""

    id: str
    meaning: str
    message: CaisseApRequest | CaisseApAnswer
    data: bytes


MESSAGES = (
    Message(
        "caisse-ap-ip-001",
        "debit of 12.34 EUR",
        DEBIT,
        bytes.fromhex(
            "435a30303430333030434a30313230313233343536373839303143413030323031434530303339373842413030313043"
            "4430303130434230303431323334"
        ),
    ),
    Message(
        "caisse-ap-ip-002",
        "approved, contact card",
        APPROVED,
        bytes.fromhex(
            "435a30303430333030434a30313230313233343536373839303143413030323031434530303339373842413030313043"
            "443030313043423030343132333441453030323130434330303330303143493030313141433030363239323836394141"
            "303136383337363632232323232323353731304149303231413030303030303030363837373734313738323536414230"
            "3034323731304346303130313031303030303030304347303036343234323432"
        ),
    ),
    Message(
        "caisse-ap-ip-003",
        "refund of 5.00 EUR",
        CREDIT,
        bytes.fromhex(
            "435a30303430333030434a30313230313233343536373839303143413030323031434530303339373842413030313043"
            "44303031314342303033353030"
        ),
    ),
    Message(
        "caisse-ap-ip-004",
        "not done, no card in time",
        NOBODY_CAME,
        bytes.fromhex(
            "435a30303430333030434a30313230313233343536373839303143413030323031434530303339373842413030313043"
            "443030313143423030333530304145303032303141463030323038"
        ),
    ),
)


def decode_fields(message: bytes) -> Fields:
    """The fields of a whole message.

    :raises Garbled: as `Deframer.feed`, or when the last field runs past the end.
    """
    deframer = Deframer()
    deframer.feed(message)
    if not deframer.between_fields:
        raise Garbled("the last field runs past the end")
    return deframer.fields
