"""The customer of a receipt: how it may reach them, and the letters that tell them (`dmtwisted.outbox`).

The address is kept beside the operation from its intent on, and is in the letter from the outcome on; then the
operation has it no more. *Power fails between them:* the receipt is settled with the address that its intent has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from dmtwisted.documents import documents
from dmtwisted.documents.documents import EXPENSE, INCOME, RETURN, SALE, STORNO, WITHDRAWAL, Document
from dmtwisted.registers.kept import Reach
from dmtwisted.requests import LONGEST_ADDRESS, Customer
from dmtwisted.results import Text
from dmtwisted.store.values import Letter

MAIL: Literal["mail"] = "mail"
PHONE: Literal["phone"] = "phone"
"""The kinds of letters to customers."""

HANDED_OUT = frozenset({SALE, RETURN, WITHDRAWAL, INCOME, EXPENSE, STORNO})
"""Documents that somebody gets who is not the shop."""

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_ADDRESS = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})+)")
"""One address without a name, quotes and comments (RFC 5321, 4.1.2); its domain may be in any script."""

LONGEST_LOCAL = 64
"""Characters before the @ (RFC 5321, 4.5.3.1.1)."""

_NUMBER = re.compile(r"\+?[0-9]{7,15}")
_FILLERS = str.maketrans("", "", " \u00a0-()./")


class ForCustomer(msgspec.Struct, frozen=True):
    """A letter: a receipt, and who gets it; it needs neither journal nor register any more."""

    to: str
    fiscal_number: str
    at: int
    """When the document was accepted."""
    document: bytes


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(ForCustomer).decode


def mail_address(text: str) -> str:
    """``text`` as mail servers take it; empty when it is not one address."""
    found = _ADDRESS.fullmatch(text)
    if found is None or len(found[1]) > LONGEST_LOCAL:
        return ""
    try:
        address = f"{found[1]}@{found[2].encode('idna').decode('ascii')}"
    except UnicodeError:
        return ""
    return address if len(address) <= LONGEST_ADDRESS else ""


def phone_number(text: str) -> str:
    """``text`` as digits, with its plus; empty when it is no telephone number."""
    number = text.translate(_FILLERS)
    return number if _NUMBER.fullmatch(number) else ""


def reach_of(customer: Customer, mail: bool, phone: bool) -> tuple[Reach | None, list[Text]]:
    """How a receipt reaches its customer, and what is in the way.

    :param mail: whether e-mail is set up.
    :param phone: whether telephone numbers are told to an operator.
    """
    reach, why = {"email": "", "phone": ""}, []
    for name, given, is_set, form in (
        ("email", customer.email, mail, mail_address),
        ("phone", customer.phone, phone, phone_number),
    ):
        if not given:
            continue
        reach[name] = form(given) if is_set else ""
        if not is_set:
            why.append(_NOT_SET_UP[name])
        elif not reach[name]:
            why.append(_WRONG[name])
    return (Reach(**reach) if any(reach.values()) else None), why


_NOT_SET_UP = {
    "email": Text("пошту в сервісі не налаштовано", "e-mail is not set up in the service"),
    "phone": Text("оператора для номерів телефону не налаштовано", "no operator for telephone numbers is set up"),
}
_WRONG = {
    "email": Text("userinfo.email не є адресою пошти", "userinfo.email is no e-mail address"),
    "phone": Text("userinfo.phone не є номером телефону", "userinfo.phone is no telephone number"),
}


def letters(document: Document, fiscal_number: str, reach: Reach, device_n: int, now: int) -> list[Letter]:
    """The letters that tell of ``document``, accepted as ``fiscal_number``."""

    def made() -> Iterator[Letter]:
        value = documents.encode(document)
        for kind, to in ((MAIL, reach.email), (PHONE, reach.phone)):
            if to:
                yield Letter(kind, device_n, now, encode(ForCustomer(to, fiscal_number, now, value)))

    return list(made())
