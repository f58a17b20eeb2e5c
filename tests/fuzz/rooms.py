"""Data from tills, shops and administrators: tasks, forms, settings, files; and the store's own frames."""

from __future__ import annotations

import gzip
import json
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from dmtwisted.access.certificates import BadCertificate, read_content
from dmtwisted.clock import span
from dmtwisted.config import ConfigError, load
from dmtwisted.devices.driver import BadSettings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.documents.doccmd import read_doccmd, read_lines, write_doccmd
from dmtwisted.documents.forms import receipt_form
from dmtwisted.documents.template import SAMPLE, BrokenTemplate, check_template, with_template
from dmtwisted.hardened import BadList, Circle, read_network, read_origin
from dmtwisted.host_names import BadHost, host_of, read_host
from dmtwisted.money import hryvnias, kopecks, thousandths
from dmtwisted.printing.layout import lay_out
from dmtwisted.printing.letters import Letters
from dmtwisted.registers import kept
from dmtwisted.requests import echo_of, read_json, read_root, read_task
from dmtwisted.results import Refused, Res
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.service_settings import Settings, _changed, _read
from dmtwisted.store.carry.archive import read_rows, unpack
from dmtwisted.store.rows import CarryError
from dmtwisted.store.schema import shapes
from dmtwisted.store.sqlite import wire
from dmtwisted.store.values import NameTaken, StoreFailed
from protocols.simulators.scenario import Scenario, ScenarioError
from tests.fuzz.printers import PNG
from tests.fuzz.target import Broken, Target, same_however_cut, until
from web.uploads import read_form

FORM = receipt_form(SAMPLE, "TEST_17")


def refused_with_2000(read: Callable[[], object]) -> None:
    """Call ``read``, which may refuse only with the code for unreadable data.

    :raises Broken: when it refuses with another one.
    """
    try:
        read()
    except Refused as refused:
        if refused.res is not Res.MALFORMED:
            raise Broken(f"refused with {refused.res}") from refused
        refused.errortxt("uk").encode()
        refused.errortxt("en").encode()


def tasks(data: bytes) -> None:
    """A task is read completely, or refused with 2000; the refusal repeats the members that could be read."""
    echo_of(data)
    refused_with_2000(lambda: read_root(read_json(data)))
    refused_with_2000(lambda: read_task(read_json(data)))
    refused_with_2000(lambda: read_task(read_json(data), batch=True))


def amounts(data: bytes) -> None:
    """A number is an amount in kopecks, whose text is read back as the same, or it is refused."""
    text = data.decode("utf-8", "replace")
    for value in (text, *_values(data)):
        for read in (kopecks, thousandths):
            with suppress(ValueError):
                read(value)
        with suppress(ValueError):
            whole = kopecks(value)
            if kopecks(hryvnias(whole)) != whole:
                raise Broken(f"{value!r}: {whole}")
    with suppress(ValueError):
        span(text)


def _values(data: bytes) -> list[Any]:
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return [found]


def printed_documents(data: bytes) -> None:
    """A document is a form whose encoding is read back as the same, or it is refused with 2000."""

    def read() -> None:
        form = read_doccmd(read_json(b'{"doccmd":' + data + b"}").value("doccmd"))
        if read_doccmd(json.loads(json.dumps(write_doccmd(form)))) != form:
            raise Broken(f"{form!r} does not come back")
        for _ in lay_out(form, 32, Letters()):
            """Each row can be laid out."""

    refused_with_2000(read)
    refused_with_2000(lambda: read_lines(data.decode("utf-8", "replace").split("\n")))


def templates(data: bytes) -> None:
    """With any template of the shop, the receipt is printed completely, without an interruption."""
    source = data.decode("utf-8", "replace")
    form, _ = with_template(FORM, source, SAMPLE, "TEST_17")
    if not any(form[at : at + len(FORM)] == FORM for at in range(len(form))):
        raise Broken("the receipt is not whole")
    with suppress(BrokenTemplate):
        check_template(source)


def settings(data: bytes) -> None:
    """Settings of a device, the service or a simulator are accepted, or refused with the path of the member."""
    members = next(iter(_values(data)), None)
    if not isinstance(members, dict):
        return
    for driver in _drivers():
        with suppress(BadSettings):
            msgspec.json.encode(driver.read(members))
    with suppress(BadSettings):
        msgspec.json.encode(_changed(Settings(), _read(members)))
    with suppress(ScenarioError):
        Scenario().replace(members)


@cache
def _drivers() -> tuple[Any, ...]:
    return tuple(find_drivers().values())


def configuration(data: bytes) -> None:
    """A configuration file is read, or refused with a reason; so are its lists."""
    file = _file("dmtwisted.toml")
    file.write_bytes(data)
    with suppress(ConfigError):
        repr(load(file))
    text = data.decode("utf-8", "replace")
    circle = Circle.read()
    with suppress(BadHost):
        host_of(data)
    circle.has_origin(text)
    for read in (read_network, read_host, read_origin):
        with suppress(BadList):
            read(text)


def backups(data: bytes) -> None:
    """A backup is read to its last byte, or refused; so are its rows."""
    file = _file("backup.tar.gz")
    for content in (data, gzip.compress(data, 1, mtime=0)):
        file.write_bytes(content)
        with suppress(CarryError):
            unpack(file, None, lambda _: None)
    for shape in shapes():
        with suppress(CarryError):
            list(read_rows(BytesIO(data), shape))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="dmtwisted-fuzz-")


def _file(name: str) -> Path:
    return Path(_folder().name) / name


def certificate_files(data: bytes) -> None:
    """An uploaded file is a key with its certificate, or is refused."""
    with suppress(BadCertificate):
        repr(read_content(Path("upload"), data, "password"))


class _Upload:
    """The part of an HTTP request that a form needs."""

    def __init__(self, data: bytes) -> None:
        self._kind, _, body = data.partition(b"\n")
        self.content = BytesIO(body)

    def getHeader(self, name: bytes) -> bytes:
        """The content type, which is the first line."""
        return self._kind


def forms(data: bytes) -> None:
    """A form with files is taken apart, or refused with 2000."""
    upload: Any = _Upload(data)
    refused_with_2000(lambda: read_form(upload))


def store_frames(data: bytes) -> None:
    """Frames of the writer are the same however the stream is cut; a body is arguments, a value, or a failure."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        return until(StoreFailed, wire.Deframer().feed, pieces)

    for found in same_however_cut(read, data):
        if found is StoreFailed:
            break
        seq, small, body = found
        if list(wire.Deframer().feed(wire.frame(seq, small, body))) != [(seq, small, body)]:
            raise Broken("a frame that does not come back")
    verb = wire.TABLE[data[0] % len(wire.TABLE)] if data else wire.TABLE[0]
    with suppress(StoreFailed, NameTaken):
        verb.value(wire.DONE, data[1:])
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        verb.decode_arguments(data[1:])


def kept_texts(data: bytes) -> None:
    """The data stored with a document are read, or count as missing; a changed secret is reported."""
    found = kept.decode(data)
    if kept.decode(kept.encode(found)) != found:
        raise Broken(f"{found!r} does not come back")
    with suppress(SecretsError):
        _secrets().read(data.decode("latin-1"), "place")


@cache
def _secrets() -> Secrets:
    own = Secrets(None)
    own.seal("text", "place")
    return own


def backup() -> bytes:
    """An unpacked backup without rows."""
    manifest = {"format": 1, "made": 1, "version": "1", "revision": "0003", "database": "sqlite", "newest": None}
    text = json.dumps({**manifest, "tables": {}, "files": {}}).encode()
    packed, about = BytesIO(), tarfile.TarInfo("manifest.json")
    about.size = len(text)
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(about, BytesIO(text))
    return packed.getvalue()[:2048]


SALE = json.dumps(
    {
        "ver": 6,
        "source": "till",
        "device": "test",
        "tag": "1",
        "type": 1,
        "fiscal": {
            "task": 1,
            "receipt": {
                "sum": 51,
                "rows": [{"code": "1", "name": "Кава", "cnt": "1", "price": 51.0, "taxgrp": 1, "disc": 0}],
                "pays": [{"type": 0, "sum": 51}],
            },
        },
    },
    ensure_ascii=False,
).encode()
PAYMENT = b'{"device":"pos","type":3,"pay":{"task":1,"sum":"10.50","merchant_idx":1,"rrn":"1","cancelid":"2"}}'
PRINTED = b'{"device":"prn","type":2,"doc":{"lines":[{"text":"a"}],"doccmd":[{"cmd":"cut"}]},"printer":null}'
DOCUMENT = json.dumps(
    [
        {"cmd": "text", "text": "КАВ'ЯРНЯ", "align": "center", "bold": True, "size": 2},
        {"cmd": "pair", "left": "Кава", "right": "51.00"},
        {"cmd": "rule"},
        {"cmd": "qr", "data": "https://example.com"},
        {"cmd": "barcode", "kind": "ean13", "data": "482000000001"},
        {"cmd": "image", "data": b64encode(PNG).decode()},
        {"cmd": "cut"},
    ],
    ensure_ascii=False,
).encode()
TEMPLATE = (
    "{% if receipt.total > 100 %}Дякуємо!{% endif %}\n%receipt\n{% for item in items %}{{ item.name }}\n{% endfor %}"
)
MULTIPART = (
    b'multipart/form-data; boundary=b17\n--b17\r\nContent-Disposition: form-data; name="key"; filename="x"\r\n\r\nabc'
    b'\r\n--b17\r\nContent-Disposition: form-data; name="password"\r\n\r\nword\r\n--b17--\r\n'
)
CONFIGURATION = b'[server]\nport = 3939\nallowed_hosts = "till, 192.168.1.0"\n[database]\nurl = "sqlite:///a.db"\n'
DEVICE = (
    b'{"host":"127.0.0.1","port":9100,"interface":"tcp","wait_s":60,"offline_allowed":true,"rules":[],"pf_custom":""}'
)
TASK_WORDS = (
    *(
        b'"fiscal"',
        b'"receipt"',
        b'"rows"',
        b'"pays"',
        b'"pay"',
        b'"doc"',
        b'"task"',
        b'"type":1',
        b'"tag"',
        b'"sum"',
    ),
    *(b'"disc"', b'"code_aa"', b'"get_receipts"', b'"printinfo"', b"null", b"1e999", b"[]", b"{}", b'""', b"\\u0000"),
)
PRINT_WORDS = (b'"cmd":', b'"text"', b'"pair"', b'"qr"', b'"barcode"', b'"image"', b'"feed"', b'"data":', b'"size":')
JINJA = (b"{{", b"}}", b"{%", b"%}", b"{#", b"#}", b"%receipt", b"%qr ", b"for ", b" in ", b"endfor", b"|", b"if ")

TARGETS = (
    Target("tasks", tasks, (SALE, PAYMENT, PRINTED), TASK_WORDS),
    Target(
        "amounts", amounts, (b"10.50", b'"1,5"', b"1e3", b"-0.01", b"20260921"), (b"e", b".", b"NaN", b"9" * 20), 64
    ),
    Target("doccmd", printed_documents, (DOCUMENT,), PRINT_WORDS, 4096),
    Target("templates", templates, (TEMPLATE.encode(), b"%receipt", b"{{ number }}"), JINJA, 512),
    Target("settings", settings, (DEVICE,), (b'"host"', b'"batch"', b'"tax_groups"', b'"retry_s"', b'"then"'), 1024),
    Target(
        "configuration", configuration, (CONFIGURATION,), (b"[tls]", b"[log]", b"[service]", b" = ", b'"""'), 1024
    ),
    Target("backups", backups, (backup(),), (b"manifest.json", b"ustar\x0000", b'"files"', b'"tables"'), 2048),
    Target(
        "certificate-files", certificate_files, (b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",)
    ),
    Target(
        "web-forms", forms, (MULTIPART,), (b"\r\n--b17", b"--b17--\r\n", b"filename*=utf-8''", b"boundary="), 1024
    ),
    Target("store-frames", store_frames, (wire.frame(7, 0, wire.pack([1, "a", None])), wire.pack([]))),
    Target("kept-texts", kept_texts, (kept.encode(kept.Kept({1: kept.Moments(1, 2, 3)})), b"1.name.body"), (), 256),
)
