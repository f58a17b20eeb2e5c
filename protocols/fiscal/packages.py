"""Packages of offline documents (docs/reference/tax-service.md#packages).

::

    ba 13 00 00   30 82 13 b6 06 …   c6 0a 00 00   30 82 0a c2 06 …
    length 5050   signed document    length 2758   signed document

The length has four bytes, little-endian. The package is signed again before it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MOST_DOCUMENTS = 100
"""Documents in one package."""

LENGTH_BYTES = 4


class BrokenPackage(ValueError):
    """Bytes that are not a package, or documents that fit into none."""


def join(documents: Iterable[bytes]) -> bytes:
    """The package of ``documents``, in order."""
    return b"".join(len(document).to_bytes(LENGTH_BYTES, "little") + document for document in documents)


def split(package: bytes) -> tuple[bytes, ...]:
    """The documents of a package.

    :raises BrokenPackage: when a length does not fit what follows, or the package is empty.
    """
    documents: list[bytes] = []
    place = 0
    while place < len(package):
        start = place + LENGTH_BYTES
        length = int.from_bytes(package[place:start], "little")
        if start > len(package) or not length or start + length > len(package):
            raise BrokenPackage(f"document {len(documents) + 1} at {place} is cut short")
        documents.append(package[start : start + length])
        place = start + length
    if not documents:
        raise BrokenPackage("the package is empty")
    return tuple(documents)


def batches(documents: Iterable[bytes], size: int, most: int = MOST_DOCUMENTS) -> Iterator[tuple[bytes, ...]]:
    """``documents`` in order, cut into packages.

    :param size: bytes of the documents and their lengths in one package, without the outer signature.
    :raises BrokenPackage: when one document alone is larger.
    """
    batch: list[bytes] = []
    held = 0
    for document in documents:
        needed = LENGTH_BYTES + len(document)
        if needed > size:
            raise BrokenPackage(f"a document of {len(document)} bytes fits into no package")
        if batch and (len(batch) == most or held + needed > size):
            yield tuple(batch)
            batch, held = [], 0
        batch.append(document)
        held += needed
    if batch:
        yield tuple(batch)
