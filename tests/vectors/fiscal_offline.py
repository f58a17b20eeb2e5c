"""Control numbers of documents made offline."""

from __future__ import annotations

from typing import NamedTuple


class ControlVector(NamedTuple):
    """The parts of a control number, joined by commas, and the resulting fiscal number."""

    parts: str
    fiscal_number: str
    source: str


CONTROL_NUMBERS = (
    ControlVector(
        "179625192271939,20082020,142338,10,4000002411,10,cdd68bb111f8993f3603f0179341571b35b73a07d5acee9b28fbfb714698e1b3",
        "5008.3.4758",
        "worked example of the tax service's interface text",
    ),
    ControlVector(
        "135969449201653,04062024,152618,2828,4000438533,123,950.04,47a08c017274237765f9081d994e76e08742dcef85056d655a8458ec43dff6e4",
        "23649865.1.1236",
        "offline mode specification of Poster's PRRO kit",
    ),
    ControlVector(
        "179620581609376,12032021,175253,1836,4000000202,6",
        "21182.1.9536",
        "official package of seven documents, no. 1 (102 begin offline), its seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175253,1837,4000000202,6",
        "21182.2.7773",
        "official package of seven documents, no. 2 (100 open shift), with a seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175322,1838,4000000202,6,50.00,49496c323e0033ffc1fd56b9fbbfe0fc6456b9589aa82efa18cefdb680bde796",
        "21182.3.5807",
        "official package of seven documents, no. 3 (0/0 sale), with a seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175337,1839,4000000202,6,50.00,53a04dba89f73ea27096c6b91343e97dceb9a22d07537e84e4057b24e013204a",
        "21182.4.7473",
        "official package of seven documents, no. 4 (0/0 sale), with a seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175346,1840,4000000202,6,4fae75e8111663bfad52844fa9a9d7fd70b394837edb8500c308692d6ace0cd0",
        "21182.5.8814",
        "official package of seven documents, no. 5 (ZREP), with a seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175346,1841,4000000202,6,57ecdc3fa39bc5c117df310515e963d99a47edbcacd4f36094f49c2f2f7c1dae",
        "21182.6.1734",
        "official package of seven documents, no. 6 (101 close shift), with a seed equivalent to the unpublished one",
    ),
    ControlVector(
        "179620581609376,12032021,175346,1842,4000000202,6,682ee1e51649bb24472d1f6753539b50f0a447df54ad28cb7549ce3ca8bc4af8",
        "21182.7.44",
        "official package of seven documents, no. 7 (103 end offline), with a seed equivalent to the unpublished one",
    ),
)
