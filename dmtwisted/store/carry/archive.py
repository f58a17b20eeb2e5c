"""The format of a backup: one compressed tar file with a manifest, the database, and the files of the state folder.

=====================  ======================================================================================
``manifest.json``      the content, with hashes (`Manifest`); the first member, so that it is read at once
``database.sqlite``    the whole SQLite file, or
``rows/TABLE``         the rows of a table, each a MessagePack array behind its length in four bytes
``state/PATH``         a file of the state folder: keys, certificates, ledgers of training devices
=====================  ======================================================================================
"""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedWriter, BytesIO
from pathlib import Path, PurePosixPath
from shutil import disk_usage
from typing import IO, Any, TypeVar, cast

import msgspec

from dmtwisted.store.rows import CarryError
from dmtwisted.store.shapes import Row, Shape
from dmtwisted.system.portions import PortionedFile

FORMAT = 1
"""The version of this format; a later one is refused."""

MANIFEST, DATABASE, ROWS, STATE = "manifest.json", "database.sqlite", "rows/", "state/"

MOST_MANIFEST, MOST_FILES = 16 << 20, 100_000
"""The largest manifest, in bytes, and the most files that it may name."""

MOST_RATIO, SMALL = 300, 16 << 20
"""How many times larger than the archive its content may be, and bytes for which nobody asks. Zeros alone are packed
240 times by `write_archive`."""

BETWEEN, SPARE = 1 << 20, 64 << 20
"""Bytes of heads between two members at most, and of the disk that stay free."""

_SQLITE = b"SQLite format 3\0"

_BLOCK = 1 << 20
_LENGTH = struct.Struct(">I")

T = TypeVar("T")
Advance = Callable[[int], None]
"""Called with the number of bytes that were done."""


class TableMark(msgspec.Struct, frozen=True):
    """Rows of a table, the sum of their hashes, and the highest number ever given to a row."""

    rows: int
    sum: str
    counter: int = 0


class FileMark(msgspec.Struct, frozen=True):
    """Size and hash of a member."""

    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """The content of a backup; times are milliseconds since 1970."""

    format: int
    made: int
    version: str
    revision: str
    database: str
    newest: int | None
    tables: dict[str, TableMark]
    files: dict[str, FileMark]

    @property
    def whole_file(self) -> bool:
        """Whether it holds a whole SQLite file instead of rows."""
        return DATABASE in self.files


def mark_of(path: Path) -> FileMark:
    """Size and hash of a file."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256")
        return FileMark(stream.tell(), found.hexdigest())


def write_archive(path: Path, manifest: Manifest, folder: Path, advance: Advance) -> None:
    """Write the archive of the files below ``folder`` that ``manifest`` names; only its owner can read it.

    :raises OSError: when it cannot be written; then there is no such file.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with BufferedWriter(PortionedFile(handle, "wb")) as raw:
            with gzip.GzipFile("", "wb", 1, raw, 0) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
                text = msgspec.json.encode(manifest)
                tar.addfile(_about(MANIFEST, len(text)), BytesIO(text))
                for name, mark in manifest.files.items():
                    with (folder / name).open("rb") as stream:
                        tar.addfile(_about(name, mark.size), stream)
                    advance(mark.size)
            raw.flush()
            os.fsync(raw.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _about(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


def read_manifest(path: Path) -> Manifest:
    """The manifest of a backup.

    :raises CarryError: when it is not a backup of ours, or one of a later version.
    """
    with _opened(path) as (tar, _):
        return _manifest(path, tar)


def unpack(path: Path, folder: Path | None, advance: Advance) -> Manifest:
    """Check every byte of a backup; after that write its files into ``folder``, unless that is `None`.

    :raises CarryError: when it is damaged or not a backup of ours, or the disk has no room for it.
    :raises OSError: when a file cannot be written.
    """
    if folder is not None:
        # Nothing is written of what is refused later: it could fill the disk on which the shop sells.
        checked = unpack(path, None, advance)
        needed, free = sum(mark.size for mark in checked.files.values()) + SPARE, disk_usage(folder.parent).free
        if needed > free:
            raise CarryError(f"{path}: {needed / 1e6:,.0f} MB are needed on the disk, {free / 1e6:,.0f} MB are free")
    with _opened(path) as (tar, rest):
        manifest = _manifest(path, tar)
        missing = dict(manifest.files)
        while (info := rest.between(tar.next)) is not None:
            mark = missing.pop(info.name, None)
            if mark is None or info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise CarryError(f"{path}: {info.name} does not belong in a backup")
            stream = tar.extractfile(info)
            rest.left = mark.size + BETWEEN
            begins = _SQLITE if info.name == DATABASE else b""
            target = None if folder is None else folder / info.name
            if info.size != mark.size or stream is None or _copied(stream, target, begins, advance) != mark:
                raise CarryError(f"{path}: {info.name} is damaged")
        rest.left = BETWEEN
        while rest.read(_BLOCK):
            """The rest ends with the hash over all that was packed: it must be read."""
        if missing:
            raise CarryError(f"{path}: {min(missing)} is missing")
    return manifest


class _Metered:
    """The unpacked bytes of an archive, as many as are expected: a short file can unpack to any length."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        self._packed = packed
        self.left = MOST_MANIFEST + BETWEEN

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes.

        :raises ValueError: when there are more than expected.
        """
        data = self._packed.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError("it holds more than it says")
        return data

    def between(self, step: Callable[[], T]) -> T:
        """``step``, which reads no more than the heads before the next member."""
        self.left = BETWEEN
        return step()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[tarfile.TarFile, _Metered]]:
    try:
        with gzip.open(path, "rb") as packed:
            metered = _Metered(packed)
            with tarfile.open(fileobj=cast(IO[bytes], metered), mode="r|") as tar:
                yield tar, metered
    except (EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise CarryError(f"{path}: this is not a complete backup: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        # Not from the system: gzip found no archive.
        raise CarryError(f"{path}: this is not a complete backup: {error}") from error


def _manifest(path: Path, tar: tarfile.TarFile) -> Manifest:
    info = tar.next()
    stream = tar.extractfile(info) if info is not None and info.isfile() and info.name == MANIFEST else None
    if info is None or stream is None or info.size > MOST_MANIFEST:
        raise CarryError(f"{path}: this is not a backup of this service")
    try:
        manifest = msgspec.json.decode(stream.read(), type=Manifest)
    except msgspec.DecodeError as error:
        raise CarryError(f"{path}: the manifest is damaged: {error}") from error
    if manifest.format > FORMAT:
        raise CarryError(f"{path}: this backup was made by a newer version ({manifest.version})")
    harmful = next((name for name in manifest.files if not _harmless(name)), "")
    if harmful or len(manifest.files) > MOST_FILES:
        raise CarryError(f"{path}: {harmful or 'so many files'} does not belong in a backup")
    sizes = [mark.size for mark in manifest.files.values()]
    if min(sizes, default=0) < 0 or sum(sizes) > max(SMALL, MOST_RATIO * path.stat().st_size):
        raise CarryError(f"{path}: it says that it holds more than it can")
    return manifest


def _harmless(name: str) -> bool:
    """Whether a member stays below the folder where it is unpacked."""
    path = PurePosixPath(name)
    known = name == DATABASE or name.startswith((ROWS, STATE))
    return known and not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name


def _copied(source: IO[bytes], path: Path | None, begins: bytes, advance: Advance) -> FileMark:
    """The mark of what was read from ``source``, and written to ``path``.

    :raises ValueError: when it does not begin with ``begins``.
    """
    found, size = hashlib.sha256(), 0
    target = None
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    try:
        while block := source.read(_BLOCK):
            if size == 0 and not block.startswith(begins):
                raise ValueError("its database is none")
            found.update(block)
            size += len(block)
            if target is not None:
                target.write(block)
            advance(len(block))
        if target is not None:
            target.flush()
            os.fsync(target.fileno())
    finally:
        if target is not None:
            target.close()
    return FileMark(size, found.hexdigest())


# Rows in a file


def write_rows(stream: IO[bytes], rows: Iterable[Row]) -> None:
    """Append rows."""
    for row in rows:
        body = msgspec.msgpack.encode(row)
        stream.write(_LENGTH.pack(len(body)) + body)


def read_rows(stream: IO[bytes], shape: Shape) -> Iterator[Row]:
    """The rows of a file that `write_rows` wrote.

    :raises CarryError: when it is damaged.
    """
    types: tuple[Any, ...] = tuple(kind | None for kind in shape.types)
    decode = msgspec.msgpack.Decoder(tuple[types]).decode  # type: ignore[valid-type]
    while head := stream.read(_LENGTH.size):
        try:
            body = stream.read(_LENGTH.unpack(head)[0])
            yield decode(body)
        except (struct.error, msgspec.DecodeError) as error:
            raise CarryError(f"{shape.name}: the rows are damaged: {error}") from error
