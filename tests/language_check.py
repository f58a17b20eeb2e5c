"""Does a text hold words of the other language? For every text that a caller may get."""

from __future__ import annotations

import re

from dmtwisted.results import LANGUAGES, Refused, Text

_NAMES = """
API BPOS1 COM DKE-1 EAN-13 EAN-8 EMV ESC/POS GUID HTTP HTTPS ID id IP IPP ISO JCEKS JKS JSON NUL PDF PEM PIN PKCS POST
PUT GET PATCH DELETE PNG QR RRN SIM SSI TCP TLS UTF-8 UTC URL USB UUID XML XSD X Z ZVT x z base64 true false null asc
desc png text
"""
NAMES = frozenset(_NAMES.split())
"""Names that are the same in both languages, and words of JSON."""

_LATIN = re.compile(r"[A-Za-z][\w./\[\]-]*", re.ASCII)
_PATH = re.compile(r"[a-z][a-zA-Z0-9]*([._\[].*|[A-Z0-9].*)")
_QUOTED = re.compile(r"«[^»]*»|`[^`]*`|\"[^\"]*\"|'[^']*'|https?://\S+|/dm/\S+")


def foreign(text: str, language: str, *data: str) -> list[str]:
    """The words of ``text`` that are not in ``language``; names, paths, what is quoted, and ``data`` do not count."""
    if language == "en":
        for known in data:
            text = text.replace(known, " ")
        return re.findall(r"[А-Яа-яҐґЄєІіЇї’]*[А-Яа-яҐґЄєІіЇї][А-Яа-яҐґЄєІіЇї’]*", text)
    words = (word.rstrip("./-") for word in _LATIN.findall(_QUOTED.sub(" ", text)))
    return [word for word in words if word not in NAMES | MEMBERS | {*data} and not _PATH.fullmatch(word)]


def english(refused: Refused, *data: str) -> str:
    """The reason of a refused member, in English; its Ukrainian side has no other words than Ukrainian ones."""
    (reason,) = refused.details
    assert isinstance(reason, Text) and not mixed(reason, *data), reason
    return reason.en


def mixed(text: Text, *data: str) -> list[str]:
    """`foreign` words on either side of ``text``."""
    return [word for side, language in zip(text, LANGUAGES, strict=True) for word in foreign(side, language, *data)]


_MEMBERS = """
device type tag source task fiscal pay doc sum disc round autoround rows pays cash cashier receipt name code cnt
price cost taxgrp comment change commission paysys rrn cardmask lines settings param parts merch key kind driver
rules on then times format file host port interface profile state number outcome token template doccmd cmd
opendrawer test batch password login pass url dt res errors path interrupt cancelid
"""
MEMBERS = frozenset(_MEMBERS.split())
"""Members of requests and settings without a dot or an underscore in their name."""
