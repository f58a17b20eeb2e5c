"""The wire of a marks service: a shop's accounting program that knows its excise marks
(docs/reference/http-interface.md#marks-service)::

    POST /marks/batch        {"ids": ["T25I…", …]}     → {"items": [{"uniqueIdentifier": …, "status": …}, …], "stale": false}
    POST /marks/T25I…/sold   {"cashRegister": …, "receiptRef": …, "soldAt": …}
                                                       → 200 {"status": "ПогашеноЕМ"}, 409 {"receiptRef": …}

Each request has ``X-Auth-Token``. Without the right one the answer is 401, while the service cannot answer 503.
"""  # noqa: E501 - the lines of the wire stand as they are

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

import msgspec

IN_STOCK, SPENT = "НаСкладі", "ПогашеноЕМ"
"""States of a mark: it may be sold, and it was."""

MOST_IDS = 500
"""Marks in one question."""

REFERENCE = 15
"""Characters of a receipt's reference that a service keeps."""

BATCH = "/marks/batch"

TOKEN = "X-Auth-Token"


class Ids(msgspec.Struct, frozen=True):
    """Marks that are asked for."""

    ids: list[str]


class Item(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the service knows of one mark."""

    unique_identifier: str = ""
    found: bool = True
    status: str = ""
    eo_object_code: str | None = ""
    sold: bool = False
    sold_at: str | None = ""
    stale: bool = False


class Items(msgspec.Struct, frozen=True):
    """The marks in the order in which they were asked; ``frozen``: nothing of it counts now."""

    items: list[Item]
    stale: bool = False
    frozen: bool = False


class Sale(msgspec.Struct, frozen=True, rename="camel"):
    """By which receipt a mark was sold."""

    cash_register: str
    receipt_ref: str
    sold_at: str


class Sold(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to `Sale`: spent now, or, with 409, spent before."""

    status: str = SPENT
    sold_at: str | None = ""
    receipt_ref: str | None = ""


class Unreadable(Exception):
    """A body that is not what the wire says."""


T = TypeVar("T", bound=msgspec.Struct)


def headers(token: str) -> Mapping[str, str]:
    """The headers of a request."""
    return {TOKEN: token, "Content-Type": "application/json", "Accept": "application/json"}


def encode(value: msgspec.Struct) -> bytes:
    """The JSON of a request or an answer."""
    return msgspec.json.encode(value)


def decode(body: bytes, shape: type[T]) -> T:
    """A request or an answer.

    :raises Unreadable: when it is none.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def portions(marks: Sequence[str]) -> list[list[str]]:
    """``marks`` as they fit into questions."""
    return [list(marks[first : first + MOST_IDS]) for first in range(0, len(marks), MOST_IDS)]


def sold_path(mark: str) -> str:
    """Where a mark is told to be sold: every byte of it counts."""
    return f"/marks/{quote(mark, safe='')}/sold"


def mark_in(path: str) -> str | None:
    """The mark of `sold_path`; `None` for any other path."""
    if not (path.startswith("/marks/") and path.endswith("/sold")):
        return None
    return unquote(path.removeprefix("/marks/").removesuffix("/sold"), errors="strict")


def own(kept: str | None, told: str) -> bool:
    """Whether a service that keeps ``kept`` was told so by the receipt ``told``: this is its repeat."""
    return bool(kept) and (kept or "")[:REFERENCE] == told[:REFERENCE]
