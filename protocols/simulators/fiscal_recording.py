"""Recordings of exchanges with the simulated fiscal server (docs/reference/tax-service.md#simulator).

One JSON line for each exchange or change, the first about the server::

    {"registers":[{"number":4000000001,"local":1,"tin":"34554363"}],"root":"MIIC…"}
    {"at":1790000000.0,"method":"POST","path":"/fs/doc","headers":{…},"body":"MIIJ…","ending":"whole","status":200,…}
    {"at":1790000002.0,"deed":"block","with":{"register":4000000001}}

A replay sends each request to a new server at its recorded time and compares the answers, signed ones by their
content, since the bytes differ each time. Recordings start with an empty server, because a replay does too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

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
    """A file that is not a recording, or a line of it that cannot be played."""


class Beginning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line: the server. Without ``root`` (DER) signatures are verified with any signer."""

    registers: tuple[Registration, ...]
    root: bytes = b""
    rules: Rules = Rules()
    sessions: dict[str, Granted] = {}
    """The first states of registers, by number."""


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a register in use: its next number and its offline session."""

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
    """The scenario's rules when it came."""
    ending: str = "whole"
    delay_s: float = 0.0
    status: int = 0
    """0 when no answer came."""
    reply: bytes = b""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A change made to the server."""

    at: float
    deed: str
    members: dict[str, Any] = msgspec.field(name="with")


class BlockChange(msgspec.Struct, forbid_unknown_fields=True):
    """Blocks or unblocks a register."""

    register: int


class OperatorsChange(msgspec.Struct, forbid_unknown_fields=True):
    """The keys that may sign for a register, by identifiers in hex; without any, every key of the authority."""

    register: int
    keys: tuple[str, ...] = ()
    chief: bool = True


class RegistrationChange(msgspec.Struct, forbid_unknown_fields=True):
    """Changes whether a register is registered, and whether it may go offline."""

    register: int
    closed: bool = False
    offline_allowed: bool = True


class Changeable(Protocol):
    """A server that people change: see `FiscalServer`."""

    def block(self, register: int) -> None: ...

    def unblock(self, register: int) -> None: ...

    def change(self, register: int, **members: Any) -> None: ...


def _operators(server: Changeable, change: OperatorsChange) -> None:
    server.change(change.register, operators=tuple(Operator(key, key[:8], change.chief) for key in change.keys))


def _registered(server: Changeable, change: RegistrationChange) -> None:
    server.change(change.register, closed=change.closed, offline_allowed=change.offline_allowed)


DEEDS: Mapping[str, tuple[type[msgspec.Struct], Callable[[Changeable, Any], object]]] = {
    "block": (BlockChange, lambda server, change: server.block(change.register)),
    "unblock": (BlockChange, lambda server, change: server.unblock(change.register)),
    "operators": (OperatorsChange, _operators),
    "registration": (RegistrationChange, _registered),
}
"""Changes of a server besides rules and clock; a `KeyError` names an unknown register."""

_encode = msgspec.json.Encoder().encode


class Recording:
    """Writes down the requests and answers of a server from now on.

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

    def deed(self, name: str, change: msgspec.Struct) -> None:
        """Note a change made to the server."""
        self._write(Done(at=self._server.now.timestamp(), deed=name, members=msgspec.to_builtins(change)))

    def close(self) -> None:
        """Stop recording and close the file."""
        self._server.recorder = None
        self._file.close()


@dataclass(frozen=True)
class Difference:
    """An exchange that differs from the recording; ``line`` counts from 1."""

    line: int
    recorded: str
    played: str

    def __str__(self) -> str:
        return f"line {self.line}: recorded {self.recorded}, played {self.played}"


def replay(lines: Iterable[bytes]) -> tuple[int, list[Difference]]:
    """Play a recording against a new server; returns the number of exchanges and the differences.

    :raises NoRecording: when a line cannot be read or played.
    """
    numbered = enumerate(lines, 1)
    line, first = next(numbered, (0, b""))
    beginning: Beginning = _decoded(first, line, Beginning)
    clock = Clock()
    server = _server(beginning, clock)
    played, found = 0, []
    for line, text in numbered:
        step: Exchanged | Done = _decoded(text, line, Done if b'"deed":' in text[:200] else Exchanged)
        server.skew_s = step.at - clock.seconds()
        if isinstance(step, Done):
            _do(server, step, line)
            continue
        played += 1
        server.scenario.replace({"rules": step.rules})
        answer = server.receive(Call(step.method, step.path, step.query, step.headers, step.body))
        reply = answer.reply or Reply(0, {}, b"")
        was = _shown(step.ending, step.delay_s, step.status, step.reply)
        now = _shown(answer.ending.value, answer.delay_s, reply.status, reply.body)
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

    # Any key will do: only the signed content is compared.
    signer = Authority(datetime.now(UTC), NAMED[0]).issue("Replay")

    def sealed(content: bytes) -> bytes:
        return sign(content, signer.key, signer.certificate)

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


def _shown(ending: str, delay_s: float, status: int, body: bytes) -> str:
    """The outcome of an exchange and its answer, as a text to compare."""
    content = body
    with suppress(CryptoError):
        content = read(body).content or b""
    text = content.decode("windows-1251" if content.startswith(b"<?xml") else "utf-8", "replace")
    return f"{ending} after {delay_s:g} s, {status}: {text}"
