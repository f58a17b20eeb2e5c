"""Exchanges with the simulated fiscal server in a file, to be played again as a case of its own (fiscal-server 16).

One JSON line for each thing, the first about the server itself::

    {"registers":[{"number":4000000001,"local":1,"tin":"34554363"}],"root":"MIIC…"}
    {"at":1790000000.0,"method":"POST","path":"/fs/doc","headers":{…},"body":"MIIJ…","ending":"whole","status":200,…}
    {"at":1790000002.0,"deed":"block","with":{"register":4000000001}}

Playing it again gives each request to a new server at the time at which it came, and compares what it answers. Signed
answers are compared by what was signed: the bytes differ each time. A server with a ledger was not new when it was
recorded, so recordings are made of servers that begin empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec
from twisted.internet.task import Clock

from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.certificates import read_certificate
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.fiscal.verdicts import Reply
from protocols.simulators.fiscal_calls import Call, Played
from protocols.simulators.fiscal_register import Operator, Registration
from protocols.simulators.fiscal_server import FiscalServer, Rules


class NoRecording(ValueError):
    """A file that is none, or a line of it that cannot be played."""


class Beginning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line: which server it was. Without ``root`` (DER) signatures are checked, and not whose they are."""

    registers: tuple[Registration, ...]
    root: bytes = b""
    rules: Rules = Rules()
    sessions: dict[str, Granted] = {}
    """Where registers stand at the begin, by their numbers."""


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """Where a register stands that was used before: its next number, and the offline session that it was granted."""

    next_local: int
    session: str
    seed: str


class Exchanged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One exchange, ``at`` seconds since 1970 by the server's clock."""

    at: float
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = {}
    body: bytes = b""
    rules: list[Any] = []
    """What was to go wrong when it came."""
    ending: str = "whole"
    delay_s: float = 0.0
    status: int = 0
    """0 when no answer came."""
    reply: bytes = b""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was done to the server."""

    at: float
    deed: str
    members: dict[str, Any] = msgspec.field(name="with")


class Blocked(msgspec.Struct, forbid_unknown_fields=True):
    """A register."""

    register: int


class Operators(msgspec.Struct, forbid_unknown_fields=True):
    """Whose keys may sign for a register, by their identifiers in hex; none: every key of the authority's."""

    register: int
    keys: tuple[str, ...] = ()
    chief: bool = True


class Registered(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a register is registered, and whether it may go offline."""

    register: int
    closed: bool = False
    offline_allowed: bool = True


def _operators(server: FiscalServer, told: Operators) -> None:
    server.change(told.register, operators=tuple(Operator(key, key[:8], told.chief) for key in told.keys))


def _registered(server: FiscalServer, told: Registered) -> None:
    server.change(told.register, closed=told.closed, offline_allowed=told.offline_allowed)


DEEDS: Mapping[str, tuple[type[msgspec.Struct], Callable[[FiscalServer, Any], object]]] = {
    "block": (Blocked, lambda server, told: server.block(told.register)),
    "unblock": (Blocked, lambda server, told: server.unblock(told.register)),
    "operators": (Operators, _operators),
    "registration": (Registered, _registered),
}
"""What may be done to a server besides rules and its clock; a `KeyError` names a register that is not there."""

_encode = msgspec.json.Encoder().encode


class Recording:
    """Writes down what a server hears and answers, from now on.

    :raises OSError: when the file cannot be written.
    """

    def __init__(self, file: Path, server: FiscalServer, beginning: Beginning) -> None:
        self._server = server
        self._file: IO[bytes] = file.open("wb", buffering=0)
        self.count = 0
        self._write(beginning)
        server.recorder = self._exchange

    def _write(self, line: object) -> None:
        self._file.write(_encode(line) + b"\n")

    def _exchange(self, at: datetime, rules: Mapping[str, Any], call: Call, played: Played) -> None:
        reply = played.reply
        self.count += 1
        self._write(
            Exchanged(
                at=at.timestamp(),
                method=call.method,
                path=call.path,
                query=call.query,
                headers={name: value for name, value in call.headers.items() if name.startswith("content-")},
                body=call.body,
                rules=rules["rules"],
                ending=played.ending.value,
                delay_s=played.delay_s,
                status=reply.status if reply is not None else 0,
                reply=reply.body if reply is not None else b"",
            )
        )

    def deed(self, name: str, told: msgspec.Struct) -> None:
        """Note what was done to the server."""
        self._write(Done(at=self._server.now.timestamp(), deed=name, members=msgspec.to_builtins(told)))

    def close(self) -> None:
        """Let go of the file."""
        self._server.recorder = None
        self._file.close()


@dataclass(frozen=True)
class Difference:
    """An exchange that went otherwise than it was recorded; ``line`` counts from 1."""

    line: int
    recorded: str
    played: str

    def __str__(self) -> str:
        return f"line {self.line}: recorded {self.recorded}, played {self.played}"


def replay(lines: Iterable[bytes]) -> tuple[int, list[Difference]]:
    """Play a recording against a new server: how many exchanges there were, and which went otherwise.

    :raises NoRecording: when a line cannot be read or played.
    """
    numbered = enumerate(lines, 1)
    line, first = next(numbered, (0, b""))
    beginning: Beginning = _decoded(first, line, Beginning)
    clock = Clock()
    server = _server(beginning, clock)
    played, found = 0, []
    for line, text in numbered:
        told: Exchanged | Done = _decoded(text, line, Done if b'"deed":' in text[:200] else Exchanged)
        server.skew_s = told.at - clock.seconds()
        if isinstance(told, Done):
            _do(server, told, line)
            continue
        played += 1
        server.scenario.replace({"rules": told.rules})
        answer = server.receive(Call(told.method, told.path, told.query, told.headers, told.body))
        was, now = _shown_recorded(told), _shown(answer)
        if was != now:
            found.append(Difference(line, was, now))
    return played, found


def _server(beginning: Beginning, clock: Clock) -> FiscalServer:
    trust = None
    if beginning.root:
        try:
            trust = Trust([read_certificate(beginning.root)])
        except CryptoError as error:
            raise NoRecording(f"line 1: root: {error}") from None

    def opened(message: bytes) -> Signed:
        try:
            verdict = verify(message, server.now, trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common)

    # Signed like the recorded answers, by nobody in particular: only what is signed is compared.
    nobody = Authority(datetime.now(UTC), NAMED[0]).issue("Replay")

    def sealed(content: bytes) -> bytes:
        return sign(content, nobody.key, nobody.certificate)

    server = FiscalServer(clock, beginning.registers, open=opened, seal=sealed, rules=beginning.rules)
    for number, granted in beginning.sessions.items():
        record = server.books.registers[int(number)]
        record.next_local = granted.next_local
        record.offline.grant(granted.session)
        record.offline.seed = granted.seed
    return server


def _do(server: FiscalServer, done: Done, line: int) -> None:
    try:
        kind, do = DEEDS[done.deed]
        do(server, msgspec.convert(done.members, kind))
    except (KeyError, msgspec.ValidationError) as error:
        raise NoRecording(f"line {line}: {error}") from None


def _decoded(text: bytes, line: int, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NoRecording(f"line {line}: {error}") from None


def _shown_recorded(told: Exchanged) -> str:
    return _words(told.ending, told.delay_s, told.status, told.reply)


def _shown(played: Played) -> str:
    reply = played.reply or Reply(0, {}, b"")
    return _words(played.ending.value, played.delay_s, reply.status, reply.body)


def _words(ending: str, delay_s: float, status: int, body: bytes) -> str:
    """How an exchange ended, what was answered, in words that are the same each time."""
    content = body
    with suppress(CryptoError):
        content = read(body).content or b""
    text = content.decode("windows-1251" if content.startswith(b"<?xml") else "utf-8", "replace")
    return f"{ending} after {delay_s:g} s, {status}: {text}"
