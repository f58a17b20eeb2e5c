"""Files: settings that name them, paths in addresses, members of a restored archive."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock

from dmtwisted.config import Config, ServiceConfig
from dmtwisted.state_folder import close_to_others, prepare_state
from dmtwisted.store.carry.archive import FORMAT, FileMark, Manifest, read_manifest, unpack
from dmtwisted.store.rows import CarryError
from protocols.printers.device_file import DeviceFileEndpoint
from tests.attacks.desk import Desk, MemoryDesk
from tests.attacks.variants import CRITICAL, HIGH, LOW, MEDIUM, Family, Stage
from tests.web_case import DEVICES

FILES = Family("files", "Files")

PROMPT = 2.0
"""Seconds of processor time within which a hostile name is refused."""


# -- settings that name files ---------------------------------------------------------------------------------------


def register(desk: Desk, setting: str, value: Any) -> tuple[int, str]:
    """Status and words of the answer to a register whose setting names a file; what was made is removed again."""
    settings = {"server_url": "https://localhost/fs", "signer_url": "https://localhost/", setting: value}
    asked = {"device": "evil", "kind": "register", "driver": "prro", "settings": settings}
    begun = time.process_time()
    answer = desk.own("POST", DEVICES, asked)
    assert time.process_time() - begun < PROMPT, f"{time.process_time() - begun:.1f} s"
    text = answer.body.decode()
    if answer.status == 201:
        desk.own("DELETE", f"{DEVICES}/{answer.json['dev_id']}")
    return answer.status, text


def linked(folder: Path, target: str) -> str:
    """A link in an allowed folder."""
    (folder / "link.pem").symlink_to(target)
    return str(folder / "link.pem")


def fifo(folder: Path) -> str:
    """A FIFO in an allowed folder, which nobody writes to."""
    os.mkfifo(folder / "fifo.pem")
    return str(folder / "fifo.pem")


def sparse(size: int) -> Callable[[Path], str]:
    """A file of ``size`` zero bytes that takes no room, in an allowed folder."""

    def make(folder: Path) -> str:
        with (folder / "sparse.pem").open("wb") as file:
            file.truncate(size)
        return str(folder / "sparse.pem")

    return make


def folder_link(folder: Path) -> str:
    """A linked folder in an allowed one."""
    (folder / "etc").symlink_to("/etc")
    return str(folder / "etc" / "passwd")


def changing(folder: Path) -> str:
    """A link to itself."""
    (folder / "loop.pem").symlink_to(folder / "loop.pem")
    return str(folder / "loop.pem")


PLACES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "zero": ("`/dev/zero`, which never ends", lambda f: "/dev/zero"),
    "random": ("`/dev/urandom`", lambda f: "/dev/urandom"),
    "full": ("`/dev/full`", lambda f: "/dev/full"),
    "stdin": ("`/dev/stdin`, which may wait for ever", lambda f: "/dev/stdin"),
    "tty": ("`/dev/tty`", lambda f: "/dev/tty"),
    "fd": ("`/dev/fd/0`", lambda f: "/dev/fd/0"),
    "environ": ("`/proc/self/environ`", lambda f: "/proc/self/environ"),
    "mem": ("`/proc/self/mem`", lambda f: "/proc/self/mem"),
    "kmsg": ("`/proc/kmsg`, which waits", lambda f: "/proc/kmsg"),
    "root-link": ("`/proc/self/root/etc/passwd`", lambda f: "/proc/self/root/etc/passwd"),
    "shadow": ("`/etc/shadow`", lambda f: "/etc/shadow"),
    "passwd": ("`/etc/passwd`", lambda f: "/etc/passwd"),
    "home-key": ("`~/.ssh/id_rsa`", lambda f: "~/.ssh/id_rsa"),
    "folder": ("a folder", lambda f: "/etc"),
    "climbing": ("dots out of the state folder", lambda f: f"{f}/../../../../../../etc/passwd"),
    "link": ("a link in the state folder to `/etc/passwd`", lambda f: linked(f, "/etc/passwd")),
    "link-zero": ("a link in the state folder to `/dev/zero`", lambda f: linked(f, "/dev/zero")),
    "link-folder": ("a linked folder in the state folder", folder_link),
    "link-loop": ("a link to itself", changing),
    "fifo": ("a FIFO in the state folder, which would wait for ever", fifo),
    "sparse": ("a file of 10 GB in the state folder", sparse(10 << 30)),
    "large": ("a file of one byte more than 1 MB", sparse((1 << 20) + 1)),
    "url": ("`file:///etc/passwd`", lambda f: "file:///etc/passwd"),
    "http": ("the address of a web site", lambda f: "http://evil.example/ca.pem"),
    "unc": ("a share of another computer", lambda f: "\\\\evil.example\\share\\ca.pem"),
    "unc-slashes": ("a share, with slashes", lambda f: "//evil.example/share/ca.pem"),
    "drive": ("a device of Windows", lambda f: "\\\\.\\PhysicalDrive0"),
    "nul-device": ("`CON` of Windows", lambda f: "CON"),
    "zero-byte": ("a name with a zero byte", lambda f: "/etc/passwd\0.pem"),
    "newline": ("a name with a line end and an escape sequence", lambda f: "/etc/pass\nwd\x1b[2J"),
    "long": ("a name of 5,000 letters", lambda f: "/" + "x" * 5000),
    "pipe": ("a command after a bar", lambda f: "|id"),
    "shell": ("a command in a name", lambda f: "$(id)`id`;id"),
    "dash": ("a dash", lambda f: "-"),
}


@FILES.each(
    {
        f"ca-{name}": (f"{what}, as the roots of the tax server", "server_ca", make)
        for name, (what, make) in PLACES.items()
    },
    "It is refused in the very words for a file that is not there; it is neither read nor waited for.",
    HIGH,
    Stage.MEMORY,
)
def named_file(desk: MemoryDesk, setting: str, make: Callable[[Path], str]) -> None:
    """A setting that names what is no small regular file in an allowed folder."""
    with TemporaryDirectory(dir=desk.shop.state) as inside:
        gone = str(desk.shop.state / "not-there.pem")
        usual, path = register(desk, setting, gone), make(Path(inside))
        status, text = register(desk, setting, path)
    assert status == usual[0] == 422, (status, text)
    assert "root:" not in text and "BEGIN" not in text and "PATH=" not in text, text
    if len(path) < 1000 and path.isprintable():
        # A name that no file can have may be told so.
        assert text == usual[1], (text, usual[1])
    assert "\x1b" not in text


@FILES.each(
    {
        f"{setting.replace('_', '-')}-{name}": (f"{PLACES[name][0]}, as `{setting}`", setting, PLACES[name][1])
        for setting in ("signer_ca", "trusted_certificates")
        for name in ("zero", "shadow", "environ", "fifo", "link", "climbing", "sparse")
    },
    "As for every setting that names a file: `{0}` is refused as if nothing were there.",
    HIGH,
    Stage.MEMORY,
)
def other_named_file(desk: MemoryDesk, setting: str, make: Callable[[Path], str]) -> None:
    """The other settings of a register that name files."""
    named_file(desk, setting, make)


@FILES.each(
    {
        "nexo-pem-path": ("a path where a terminal's certificate is expected", "ca", "/etc/passwd"),
        "nexo-pem-file": (
            "the name of a file after the mark of PEM",
            "ca",
            "-----BEGIN CERTIFICATE-----\n/etc/passwd",
        ),
        "nexo-notices-path": ("a path where the certificate for notices is expected", "notices_pem", "/etc/shadow"),
        "nexo-pem-megabyte": ("a megabyte of PEM", "ca", "-----BEGIN CERTIFICATE-----\n" * 40_000),
    },
    "The setting takes text and opens no file: 422, without a word of what is on the disk.",
    MEDIUM,
    Stage.MEMORY,
)
def pem_text(desk: MemoryDesk, setting: str, value: str) -> None:
    """A setting that holds PEM and no name."""
    settings = {"host": "localhost", "port": 1, "poi_id": "x", "sale_id": "x", "passphrase": "x" * 20, setting: value}
    answer = desk.own("POST", DEVICES, {"device": "e", "kind": "terminal", "driver": "nexo", "settings": settings})
    assert answer.status == 422 and b"root:" not in answer.body, answer
    assert len(answer.body) < 10_000, len(answer.body)


@FILES.each(
    {
        f"printer-{name}": (f"{path} as the file of a printer", path)
        for name, path in (
            ("passwd", "/etc/passwd"),
            ("database", "dmtwisted.db"),
            ("secret-key", "secret.key"),
            ("new", "new-file"),
            ("folder", "."),
        )
    },
    "Only a printer's device is opened for printing: the file stays as it was, and none is made.",
    HIGH,
    Stage.MEMORY,
)
def printer_file(desk: MemoryDesk, path: str) -> None:
    """A print into a file of the attacker's choice."""
    file = Path(path) if path.startswith("/") else desk.shop.state / "prints" / path
    if not path.startswith("/"):
        (desk.shop.state / "prints").mkdir()
        if path not in ("new-file", "."):
            file.write_bytes(b"secret")
    before = file.read_bytes() if file.is_file() else None
    opened: list[Any] = []
    DeviceFileEndpoint(Clock(), str(file)).connect(Factory.forProtocol(Protocol)).addCallbacks(
        lambda line: opened.append("opened"), lambda why: None
    )
    assert not opened, "it was opened"
    assert (file.read_bytes() if file.is_file() else None) == before
    if not path.startswith("/"):
        shutil.rmtree(desk.shop.state / "prints")


# -- paths in addresses ---------------------------------------------------------------------------------------------

DOTS = {
    "plain": "..",
    "coded": "%2e%2e",
    "half": ".%2e",
    "slash": "..%2f",
    "twice": "%252e%252e",
    "backslash": "..%5c",
    "overlong": "%c0%ae%c0%ae",
    "semicolon": "..;",
    "nul": "..%00",
    "full-width": "%ef%bc%8e%ef%bc%8e",
}


@FILES.each(
    {
        f"climb-{place}-{name}": (f"dots ({name}) out of {start}", start, dots)
        for place, start in (
            ("static", "/dm/static/"),
            ("backups", "/dm/api/v3/backups/"),
            ("receipts", "/dm/main/receipts/"),
            ("login", "/login/"),
            ("devices", "/dm/api/v3/devices/"),
            ("pages", "/dm/main/"),
        )
        for name, dots in DOTS.items()
    },
    "Nothing is there: no file outside of `{0}` is shown, however the dots are spelled.",
    CRITICAL,
)
def climbing(desk: Desk, start: str, dots: str) -> None:
    """Out of a folder by its address."""
    for target in ("etc/passwd", "secret.key", "dmtwisted.db", "gate.py"):
        answer = desk.ask("GET", f"{start}{dots}/{dots}/{dots}/{dots}/{target}")
        assert answer.status in (400, 404, 302), answer
        assert b"root:" not in answer.body and b"SQLite" not in answer.body and b"import" not in answer.body


@FILES.each(
    {
        f"backup-{name}": (f"the backup `{file}`", file)
        for name, file in (
            ("database", "dmtwisted.db"),
            ("secret-key", "secret.key"),
            ("hidden", ".tar.gz"),
            ("absolute", "%2fetc%2fpasswd.tar.gz"),
            ("link", "link.tar.gz"),
            ("folder", "folder.tar.gz"),
            ("fifo", "fifo.tar.gz"),
            ("long", "x" * 300 + ".tar.gz"),
            ("ending", "x.tar.gz%00.png"),
            ("newline", "x%0a.tar.gz"),
        )
    },
    "Only a backup of ours is handed out: no link, no FIFO, no other file of the state folder.",
    CRITICAL,
    Stage.MEMORY_LOGIN,
)
def backup_file(desk: MemoryDesk, name: str) -> None:
    """A name in the folder of backups, with links and a FIFO in it."""
    folder = desk.shop.state / "backups"
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    (folder / "link.tar.gz").symlink_to("/etc/passwd")
    (folder / "folder.tar.gz").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "fifo.tar.gz")
    try:
        answer = desk.own("GET", f"/dm/api/v3/backups/{name}")
        assert answer.status in (400, 403, 404, 422), answer
        assert b"root:" not in answer.body
        listed = desk.own("GET", "/dm/api/v3/backups").body
        assert b"link.tar.gz" not in listed or b'"whole":true' not in listed, listed
    finally:
        (folder / "link.tar.gz").unlink(missing_ok=True)
        (folder / "folder.tar.gz").rmdir()
        (folder / "fifo.tar.gz").unlink(missing_ok=True)
        if made:
            folder.rmdir()


@FILES.each(
    {
        "picture-file": ("a picture of a file in a template", "%image file:///etc/passwd"),
        "picture-path": ("a picture by its path in a template", "%image /etc/passwd"),
        "picture-url": ("a picture of a web site in a template", "%image http://evil.example/x.png"),
        "picture-data": ("a picture in a template that is none", "%image data:image/png;base64,AAAA"),
        "include": ("a file included in a template", "{% include '/etc/passwd' %}"),
        "extends": ("a template that extends a file", "{% extends '/etc/passwd' %}"),
        "import": ("a module imported in a template", "{% import 'os' as os %}"),
        "class": ("Python's classes in a template", "{{ ''.__class__.__mro__[1].__subclasses__() }}"),
        "class-of-value": ("the class of a value in a template", "{{ sum.__class__ }}"),
        "globals": ("the globals of a row in a template", "{{ items[0].__init__.__globals__ }}"),
        "cycler": ("a command by `cycler` in a template", "{{ cycler.__init__.__globals__.os.popen('id').read() }}"),
        "filter": ("an attribute by a filter in a template", "{{ sum|attr('__class__') }}"),
        "context": ("the context of a template", "{{ self._TemplateReference__context }}"),
        "request": ("the request in a template", "{{ request.application }}"),
        "long-loop": (
            "a loop of a billion turns in a template",
            "{% set a = 1 %}{% for x in range(10**9) %}x{% endfor %}",
        ),
        "deep-loops": (
            "three loops in each other in a template",
            "{% for a in items %}{% for b in items %}{% for c in items %}x{% endfor %}{% endfor %}{% endfor %}",
        ),
        "long-text": ("a text of a billion letters in a template", "{{ 'x' * 10**9 }}"),
        "power": ("a number of a billion digits in a template", "{{ 9**9**9 }}"),
        "lipsum": ("`lipsum` in a template", "{{ lipsum() }}"),
        "wide-format": ("a format of a billion blanks in a template", "{{ '%999999999d'|format(1) }}"),
        "braces": ("60,000 braces as a template", "{" * 60_000),
        "many-values": ("5,000 values in a template", "{{ sum }}" * 5000),
    },
    "The template is refused in words, for a device and for all registers alike, before anything of it runs.",
    CRITICAL,
)
def template(desk: Desk, text: str) -> None:
    """A shop's own print form (docs/print-forms.md)."""
    devices = desk.own("GET", DEVICES).json["devices"]
    dev_id = next(each["dev_id"] for each in devices if each["device"] == "test")
    answer = desk.own("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"template": text}})
    assert answer.status == 422, answer
    known = desk.own("POST", "/dm/main/api/v1/prro", {"dev_id": dev_id, "template": text})
    assert known.json["res"] > 0, known


# -- restored archives ----------------------------------------------------------------------------------------------


class Archive:
    """A backup of the attacker's making: a right manifest, and then anything."""

    def __init__(self, folder: Path) -> None:
        self.path, self.out = folder / "evil.tar.gz", folder / "out"
        self.members: list[tuple[tarfile.TarInfo, bytes]] = []
        self.files: dict[str, FileMark] = {}
        self.format = FORMAT

    def add(self, name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, **more: Any) -> None:
        """A member that the manifest names."""
        info = tarfile.TarInfo(name)
        info.type, info.size = kind, len(content) if kind == tarfile.REGTYPE else 0
        for key, value in more.items():
            setattr(info, key, value)
        self.members.append((info, content))
        self.files[name] = FileMark(len(content), hashlib.sha256(content).hexdigest())

    def write(self, manifest: bytes | None = None, end: bytes = b"") -> None:
        """The file."""
        whole = manifest or msgspec.json.encode(Manifest(self.format, 0, "1", "x", "sqlite", None, {}, self.files))
        with gzip.open(self.path, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
            info = tarfile.TarInfo("manifest.json")
            info.size = len(whole)
            tar.addfile(info, io.BytesIO(whole))
            for info, content in self.members:
                tar.addfile(info, io.BytesIO(content))
        self.path.write_bytes(self.path.read_bytes() + end)


def member(name: str, **more: Any) -> Callable[[Archive], None]:
    """An archive with one member more."""

    def make(archive: Archive) -> None:
        archive.add(name, **more)
        archive.write()

    return make


def twice(archive: Archive) -> None:
    """The same member two times."""
    archive.add("state/a", b"x")
    archive.add("state/a", b"x")
    archive.write()


def unnamed(archive: Archive) -> None:
    """A member that the manifest does not name."""
    archive.add("state/a", b"x")
    archive.files.clear()
    archive.write()


def larger(archive: Archive) -> None:
    """300 MB where the manifest names one byte."""
    archive.add("state/a", bytes(300 << 20))
    archive.files["state/a"] = FileMark(1, "0" * 64)
    archive.write()


def negative(archive: Archive) -> None:
    """A size below zero in the manifest."""
    archive.add("state/a", b"x")
    archive.files["state/a"] = FileMark(-1, "0" * 64)
    archive.write()


def many_names(archive: Archive) -> None:
    """A manifest that names a million files which do not come."""
    archive.files = {f"state/{n}": FileMark(1, "0" * 64) for n in range(200_000)}
    archive.write()


def manifest_of(text: bytes) -> Callable[[Archive], None]:
    """An archive with another manifest."""
    return lambda archive: archive.write(text)


def raw(data: bytes) -> Callable[[Archive], None]:
    """A file that is no archive."""

    def make(archive: Archive) -> None:
        archive.path.write_bytes(data)

    return make


def cut(archive: Archive) -> None:
    """Half of an archive."""
    archive.add("state/a", os.urandom(100_000))
    archive.write()
    archive.path.write_bytes(archive.path.read_bytes()[:50_000])


def newer(archive: Archive) -> None:
    """A format that is still to come."""
    archive.format = FORMAT + 1
    archive.write()


@FILES.each(
    {
        "restore-absolute": ("an absolute name", member("/tmp/evil")),
        "restore-dots": ("a name with dots", member("state/../../evil")),
        "restore-dots-first": ("a name that begins with dots", member("../evil")),
        "restore-dots-end": ("a name that ends in dots", member("state/..")),
        "restore-backslash": ("a name with backslashes", member("state/..\\..\\evil")),
        "restore-drive": ("a name with a drive", member("state/C:evil")),
        "restore-stream": ("a name with a stream of Windows", member("state/a.db:evil")),
        "restore-elsewhere": ("a name outside of the known folders", member("etc/passwd")),
        "restore-symlink": ("a link", member("state/a", kind=tarfile.SYMTYPE, linkname="/etc/passwd")),
        "restore-hardlink": ("a hard link", member("state/a", kind=tarfile.LNKTYPE, linkname="/etc/passwd")),
        "restore-fifo": ("a FIFO", member("state/a", kind=tarfile.FIFOTYPE)),
        "restore-device": ("a device", member("state/a", kind=tarfile.CHRTYPE, devmajor=1, devminor=5)),
        "restore-block": ("a disk", member("state/a", kind=tarfile.BLKTYPE, devmajor=8, devminor=0)),
        "restore-folder": ("a folder where a file belongs", member("state/a", kind=tarfile.DIRTYPE)),
        "restore-database-folder": ("a folder as the database", member("database.sqlite", kind=tarfile.DIRTYPE)),
        "restore-twice": ("a member that comes twice", twice),
        "restore-unnamed": ("a member that the manifest does not name", unnamed),
        "restore-larger": ("300 MB where the manifest names one byte", larger),
        "restore-negative": ("a size below zero", negative),
        "restore-missing": ("200,000 files that do not come", many_names),
        "restore-no-manifest": ("a manifest that is no JSON", manifest_of(b"{")),
        "restore-deep-manifest": ("a manifest 100,000 deep", manifest_of(b"[" * 100_000)),
        "restore-other-manifest": ("a manifest of another kind", manifest_of(b'{"format": "1"}')),
        "restore-newer": ("a format that is still to come", newer),
        "restore-cut": ("half of an archive", cut),
        "restore-zip": ("a ZIP file", raw(b"PK\x03\x04" + bytes(100))),
        "restore-empty": ("an empty file", raw(b"")),
        "restore-gzip-only": ("packed zero bytes", raw(gzip.compress(bytes(10_000_000)))),
        "restore-garbage-after": ("a right archive with other bytes behind it", lambda a: a.write(end=b"evil" * 100)),
    },
    "It is refused in words; no more than the manifest promises is written, and nothing outside of its folder.",
    HIGH,
    Stage.ALONE,
)
def restore(desk: None, make: Callable[[Archive], None]) -> None:
    """``dmtwisted restore`` of a file that somebody brought."""
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        make(archive)
        archive.out.mkdir()
        written = 0

        def advance(size: int) -> None:
            nonlocal written
            written = max(written, sum(one.stat().st_size for one in archive.out.rglob("*") if one.is_file()))

        try:
            unpack(archive.path, archive.out, advance)
        except CarryError as error:
            assert str(error), "no reason is given"
        else:
            raise AssertionError("it was taken")
        assert written <= 2 << 20, f"{written} bytes were written"
        inside = {one.name for one in Path(folder).iterdir()}
        assert inside == {"evil.tar.gz", "out"}, inside
        assert not any(one.is_symlink() or one.is_fifo() or one.is_char_device() for one in archive.out.rglob("*"))


@FILES.one(
    "restore-manifest-bomb",
    "a manifest of 1 GB in 1 MB of archive",
    "It is refused by its size before it is read.",
    HIGH,
    Stage.ALONE,
)
def manifest_bomb(desk: None) -> None:
    """A bomb in the first member."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "evil.tar.gz"
        info = tarfile.TarInfo("manifest.json")
        info.size = 1 << 30
        with gzip.open(path, "wb", 1) as packed:
            packed.write(info.tobuf() + bytes(1 << 20))
        begun = time.process_time()
        try:
            read_manifest(path)
        except CarryError:
            assert time.process_time() - begun < PROMPT
        else:
            raise AssertionError("it was read")


@FILES.each(
    {
        "state-folder": ("the modes of a new state folder", "0o700"),
        "state-files": ("the modes of database and keys in it", "0o600"),
    },
    "Only the user of the service may read them ({0}), also in a folder that was there before.",
    MEDIUM,
    Stage.ALONE,
)
def modes(desk: None, mode: str) -> None:
    """Another user of the same computer."""
    with TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        state.mkdir(mode=0o755)
        state.chmod(0o755)
        (state / "dmtwisted.db").write_bytes(b"")
        (state / "dmtwisted.db").chmod(0o644)
        prepare_state(state)
        close_to_others(Config(service=ServiceConfig(state=str(state))))
        found = state.stat().st_mode if mode == "0o700" else (state / "dmtwisted.db").stat().st_mode
        assert oct(found & 0o777) == mode, oct(found & 0o777)


@FILES.one(
    "static-other",
    "the source of a page beside the style sheets",
    "Only the listed style sheets, scripts and pictures are served.",
    LOW,
)
def static(desk: Desk) -> None:
    """What else lies in the packages."""
    for path in ("../templates/base.html", "__init__.py", "%00", ".", "", "../gate.py", "..%2f..%2fsetup.cfg"):
        answer = desk.ask("GET", f"/dm/static/{path}")
        assert answer.status in (301, 302, 400, 403, 404), (path, answer)
