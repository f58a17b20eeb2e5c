"""Fiscal numbers that a register gives itself while it is offline (fiscal-server 6, 7.4, 7.5).

``<session>.<n>.<control>``: the session and its secret seed come from the tax service while the register is
online, ``n`` counts the documents of the session from 1, and the control number proves that whoever numbered the
document knew the seed::

    text     seed,ORDERDATE,ORDERTIME,ORDERNUM,CASHREGISTERNUM,CASHDESKNUM[,SUM][,PREVDOCHASH]
    CRC-32   a6 bd db bd      of the ASCII text, as zlib reckons it
    swapped  bd db bd a6      the trap: the four bytes are reversed
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
    :param amount: ``0.00`` when the document has a total, else empty.
    :param hash: hash of the document before it; empty right after the session's begin.
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
    """What the next document carries of this one: SHA-256 of the bytes as prepared for sending, in hex."""
    return hashlib.sha256(sent).hexdigest()
