"""Documents of MG registers with their meaning (docs/reference/registers.md#mg).

The documents follow the Help Micro MG-N707TS documentation, and 0xporky/mgnemu-python takes F, R and IO; the login
was calculated with the arithmetic of RFC 2617.
"""

from __future__ import annotations

from protocols.registers.mg.digest import Challenge, Login
from protocols.registers.mg.documents import Cash, Discount, Document, Kind, Payment, Sale, Text

BREAD = Sale("1", "Хліб", 1000, 2550, 1)

DOCUMENTS = (
    (
        '{"R":[{"S":{"code":"1","name":"Хліб","qty":1,"price":25.5,"tax":1}},{"P":{}}]}',
        Document(Kind.RETURN, (BREAD, Payment())),
    ),
    ('{"IO":[{"IO":{"sum":100.0}}]}', Document(Kind.CASH, (Cash(10000),))),
    ('{"IO":[{"IO":{"sum":-50.0}}]}', Document(Kind.CASH, (Cash(-5000),))),
    ('{"P":[{"N":{"cm":"line"}}]}', Document(Kind.TEXT, (Text("line"),))),
    (
        '{"F":[{"S":{"code":"1","name":"Хліб","qty":1,"price":25.5,"tax":1}},{"D":{"sum":-0.5}},{"P":{"no":4,"sum":25,'
        '"rrn":"000000000001","card":"411111******1111","bank":"Bank","term":"T0000001","authcode":"123456"}}]}',
        Document(
            Kind.SALE,
            (
                BREAD,
                Discount(-50),
                Payment(4, 2500, "000000000001", "411111******1111", "Bank", "T0000001", "123456"),
            ),
        ),
    ),
)

ERROR = b'{"err":[{"e":"xEA"}]}'

LOGIN, CHALLENGE = Login("service", "751426"), Challenge("0123456789abcdef")
STATE_HEADER = (
    'Digest username="service", realm="HTROM", nonce="0123456789abcdef", uri="/cgi/state", qop=auth, nc=00000001, '
    'cnonce="00000000feedface", response="31b1cc85f7e220ae578c5c28129aca3f"'
)
CNONCE = "00000000feedface"
