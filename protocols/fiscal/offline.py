"""Fiscal numbers that a register assigns offline (docs/reference/tax-service.md#offline-numbers).

``<session>.<n>.<control>``: the session and its secret seed come from the tax service while the register is online,
``n`` counts the documents of the session from 1, and the control number proves that the register knew the seed::

    text     seed,ORDERDATE,ORDERTIME,ORDERNUM,CASHREGISTERNUM,CASHDESKNUM[,SUM][,PREVDOCHASH]
    CRC-32   a6 bd db bd      of the ASCII text, as in zlib
    swapped  bd db bd a6      the four bytes are reversed
    control  3185294758 mod 10000 = 4758; 0 becomes 1, no leading zeros
"""

from __future__ import annotations

import hashlib
import zlib


def control_number(
    seed: str, date: str, time: str, number: int, register: str, desk: str, amount: str = "", hash: str = ""
) -> int:
    """The control number of a document.

    :param date: ``ddmmyyyy``, :param time: ``hhmmss``, :param number: local number of the document.
    :param amount: ``0.00`` for a document with a total, else empty.
    :param hash: of the previous document; empty for the first one after the session's opening.
    """
    parts = [seed, date, time, str(number), register, desk]
    text = ",".join(parts + [part for part in (amount, hash) if part])
    crc = zlib.crc32(text.encode("ascii"))
    swapped = int.from_bytes(crc.to_bytes(4, "big"), "little")
    return swapped % 10_000 or 1


def hryvnias(kopecks: int) -> str:
    """An amount as the tax service writes it: ``-12.50``."""
    return f"{'-' if kopecks < 0 else ''}{abs(kopecks) // 100}.{abs(kopecks) % 100:02d}"


def fiscal_number(session: str, ordinal: int, control: int) -> str:
    """The offline fiscal number: ``21182.7.44``."""
    return f"{session}.{ordinal}.{control}"


def document_hash(sent: bytes) -> str:
    """The hash that the next document contains: SHA-256 of the bytes as prepared for sending, in hex."""
    return hashlib.sha256(sent).hexdigest()
