"""Answers as JSON text, with the number types that clients rely on.

Whole numbers are JSON integers; money and quantities always have a fraction (`amount`, `quantity`, specification
9.4). An answer is rendered once, stored, and repeated byte for byte; a repeat differs in
``task_status`` and ``source`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from dmtwisted.clock import stamp17
from dmtwisted.documents.documents import Caller
from dmtwisted.money import decimal_text
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Refused, Res, Words, in_language, joined

VER = 6
"""Version of the structure of requests and answers (docs/reference/http-interface.md#request)."""
RESP_VER = 4
"""Version of the structure of answers (docs/reference/http-interface.md#answer)."""

EXECUTED, FOUND, FAILED = 1, 2, 3
"""``task_status``: done now, found in the journal, refused (specification 2.3)."""

Number = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number"})]
"""A number that is already JSON text."""


@lru_cache(maxsize=1024)
def amount(kopecks: int) -> Number:
    """Money in hryvnias: ``12.5``, ``2.0``."""
    return msgspec.Raw(decimal_text(kopecks, 2).encode())


@lru_cache(maxsize=1024)
def quantity(thousandths: int) -> Number:
    """A quantity: ``0.125``, ``1.0``."""
    return msgspec.Raw(decimal_text(thousandths, 3).encode())


@lru_cache(maxsize=256)
def percent(hundredths: int) -> Number:
    """A rate in percent: ``20.0``, ``7.5``."""
    return msgspec.Raw(decimal_text(hundredths, 2).encode())


class Warning(msgspec.Struct, frozen=True):
    """One entry of ``warnings`` (docs/reference/http-interface.md#warnings)."""

    code: int
    wtxt: str

    @classmethod
    def of(cls, res: Res, language: str, note: Words = "") -> Warning:
        """``res`` as a warning, with numbers in ``note``."""
        return cls(res.code, joined(res.warning, note).for_language(language))

    @classmethod
    def by(cls, refused: Refused, language: str) -> Warning:
        """A refusal as a warning."""
        return cls(refused.res.code, refused.errortxt(language))


class Answer(msgspec.Struct, kw_only=True):
    """The root of an answer (specification 2.3); the order of its members makes logs easy to read."""

    ver: int = VER
    resp_ver: int = RESP_VER
    source: str = ""
    device: str = ""
    tag: str = ""
    task_status: int
    type: int
    task: int
    dt: str = ""
    res: int = 0
    res_action: int = 0
    errortxt: str = ""
    aq_errortxt: str = ""
    warnings: list[Warning] = []
    info: Any = {}


_encode = msgspec.json.Encoder().encode
_STATUS_EXECUTED = f'"task_status":{EXECUTED}'.encode()
_STATUS_FOUND = f'"task_status":{FOUND}'.encode()
_STATUS = b'"task_status":'
_WARNINGS = b'"warnings":['
_RES = re.compile(rb'"res":([0-9]+)')


def render(answer: Answer) -> bytes:
    """``answer`` as JSON text."""
    return _encode(answer)


def success(request: TaskRequest | Caller, at: int, info: object, warnings: Sequence[Warning] = ()) -> bytes:
    """The answer to a task that was done now."""
    return _encode(
        Answer(
            source=request.source,
            device=request.device,
            tag=request.tag,
            task_status=EXECUTED,
            type=request.type,
            task=request.task,
            dt=stamp17(at),
            warnings=list(warnings),
            info=info,
        )
    )


def res_of(answer: bytes) -> int:
    """``res`` of an answer as JSON text: a stored refusal of a terminal is an answer, too. Never raises."""
    found = _RES.search(answer)
    return int(found[1]) if found else Res.OK.code


def repeated(stored: bytes, warning: Warning | None = None) -> bytes:
    """A stored answer as it is repeated: the same bytes with ``task_status`` 2, and ``warning`` if there is one.

    Quotes within texts are escaped in JSON, so the first match of a quoted name is the member itself.
    """
    again = stored.replace(_STATUS_EXECUTED, _STATUS_FOUND, 1)
    return again if warning is None else warned(again, [warning])


def from_source(answer: bytes, source: str) -> bytes:
    """``answer`` with the ``source`` of its request (specification 2.3): a stored one has that of the first."""
    member = _encode(source)
    if answer.startswith(member, _SOURCE_AT):
        return answer
    return _SOURCE.sub(lambda _: b'"source":' + member, answer, 1)


_SOURCE_AT = _encode(Answer(task_status=0, type=0, task=0)).index(b'"source":') + len(b'"source":')
_SOURCE = re.compile(rb'"source":"(?:[^"\\]|\\.)*"')


def was_repeated(answer: bytes) -> bool:
    """Whether a successful answer is one that was found in the journal."""
    # Only the beginning is read: what follows the member is a hundred times as long.
    return answer.startswith(_STATUS_FOUND, answer.find(_STATUS))


def warns_of(answer: bytes, res: Res) -> bool:
    """Whether ``res`` is among the warnings of an answer."""
    return b'{"code":%d,"wtxt"' % res.code in answer


_PRINTED, _NOT_PRINTED = b'"isprint":1', b'"isprint":0'


def printed(answer: bytes, warnings: Sequence[Warning] = ()) -> bytes:
    """``answer`` of a task whose paper came out, with the ``warnings`` of the printer."""
    return warned(answer.replace(_NOT_PRINTED, _PRINTED, 1), warnings)


def warned(answer: bytes, warnings: Sequence[Warning]) -> bytes:
    """``answer`` with more ``warnings``."""
    if not warnings:
        return answer
    head, tail = answer.split(_WARNINGS, 1)
    separator = b"" if tail.startswith(b"]") else b","
    return head + _WARNINGS + b",".join(map(_encode, warnings)) + separator + tail


def with_member(answer: bytes, name: str, value: str) -> bytes:
    """``answer`` with one more member at its end, which is made for each request and not stored."""
    return answer[:-1] + b"," + _encode(name) + b":" + _encode(value) + b"}"


def refusal(request: TaskRequest, refused: Refused, language: str, at: int) -> bytes:
    """The answer to a task that ended with anything but success (specification 7)."""
    nothing_found = refused.res is Res.TAG_NOT_FOUND and request.task == -1
    return _encode(
        Answer(
            source=request.source,
            device=request.device,
            tag=request.tag,
            task_status=FAILED,
            type=request.type,
            task=request.task,
            dt="" if nothing_found else stamp17(at),
            res=refused.res.code,
            res_action=int(refused.action),
            errortxt=refused.errortxt(language),
            aq_errortxt=in_language(refused.aq_errortxt, language),
        )
    )
