"""The simulated tax service, ``dmtwisted simulate tax-service``, and keys for it.

Its keys are in a folder (`protocols.simulators.fiscal_keys`). What it accepted is in the ledger and, document by
document, in a second file beside it, from which it restores its registers at the next start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from twisted.internet.interfaces import IProtocolFactory, IReactorTime
from twisted.protocols.tls import TLSMemoryBIOFactory

from dmtwisted.access.local_tls import local_context
from dmtwisted.commands.control import Action, NotPossible, SimulatedPeer
from dmtwisted.commands.servers import NotStarted
from protocols.fiscal.crypto.errors import CryptoError
from protocols.simulators.cabinet_register import CabinetRecord
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.cabinet_server import Rules as CabinetRules
from protocols.simulators.cabinet_site import CabinetSite
from protocols.simulators.fiscal_keys import Cashier, FiscalKeys, open_keys, write_cashier
from protocols.simulators.fiscal_recording import (
    DEEDS,
    Beginning,
    Changeable,
    Recording,
    replay,
)
from protocols.simulators.fiscal_register import RegisterRecord, Registration
from protocols.simulators.fiscal_server import FiscalServer, Rules
from protocols.simulators.fiscal_site import FiscalSite
from protocols.simulators.fiscal_stamps import Stamping, StampProvider
from protocols.simulators.scenario import LONGEST_DELAY_MS

Chosen = Mapping[str, Any]

FIRST_REGISTER = 4_000_000_001
"""Fiscal number of the first register by default."""

REGISTERS = 2

DOCUMENTS = ".documents"
"""The ending of the file of documents, after the name of the ledger."""

LONGEST_OFFSET_S = 10 * 365 * 86_400


class Offset(msgspec.Struct, forbid_unknown_fields=True):
    """Seconds by which the server's clock is ahead; negative when it is behind."""

    offset_s: float


class StampingChange(msgspec.Struct, forbid_unknown_fields=True):
    """How the time stamp provider answers, and after how long."""

    answers: Stamping = Stamping.GRANTED
    delay_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_DELAY_MS)] = 0


def _stamping(provider: StampProvider, change: StampingChange) -> None:
    provider.answers, provider.delay_s = change.answers, change.delay_ms / 1000


def registrations(options: Chosen) -> tuple[Registration, ...]:
    """The chosen registers, with consecutive local numbers."""
    numbers = options["registers"] or [FIRST_REGISTER + n for n in range(REGISTERS)]
    return tuple(
        Registration(number, local=place, tin=options["tin"], name=f"Каса {place}")
        for place, number in enumerate(numbers, 1)
    )


def tax_service(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """The server of the chosen protocol with its keys, registers and faults.

    :raises NotStarted: when its keys or its recording cannot be opened.
    :raises OSError: when the ledger cannot be opened. :raises ValueError: when it is not a ledger.
    """
    return _cabinet(options, clock) if options["protocol"] == "b" else _fiscal_server(options, clock)


def _cabinet(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """The cabinet's server (protocol B)."""
    folder: Path = options["keys"]
    keys = _keys(folder, clock, options["seed"])
    server = CabinetServerSimulator(
        clock,
        registrations(options),
        options["ledger"],
        _documents(options["ledger"]),
        lambda message: keys.open(message, server.now),
        keys.seal,
        CabinetRules(calls_a_minute=options["calls"] or 0),
        keys.seals(_now(clock)),
    )
    with ExitStack() as opened:
        opened.callback(server.close)
        factory: object = CabinetSite(server, clock, behind_tls=bool(options["tls"]))
        if options["tls"]:
            factory = TLSMemoryBIOFactory(_context(folder, clock, options), False, cast(Any, factory), clock)
        held = opened.pop_all()
    return SimulatedPeer(
        "tax-service",
        cast(IProtocolFactory, factory),
        server.scenario,
        server.entries,
        lambda: _cabinet_state(server),
        actions(server),
        held.close,
        remark=f", gRPC{' over TLS' if options['tls'] else ''}, keys in {folder}",
    )


def _documents(ledger: Path | None) -> Path | None:
    """The file of documents beside ``ledger``."""
    return ledger and ledger.with_name(ledger.name + DOCUMENTS)


def _fiscal_server(options: Chosen, clock: IReactorTime) -> SimulatedPeer:
    """The fiscal server (protocol A)."""
    folder: Path = options["keys"]
    with ExitStack() as opened:
        keys = _keys(folder, clock, options["seed"])
        registers = registrations(options)
        ledger: Path | None = options["ledger"]
        rules = Rules(refusals_as_text=bool(options["refusals-as-text"]))
        stamps = bool(options["stamps"])
        server = FiscalServer(
            clock,
            registers,
            ledger,
            _documents(ledger),
            lambda message: keys.open(message, server.now, stamps),
            keys.seal,
            rules,
            keys.seals(_now(clock)),
        )
        opened.callback(server.close)
        recording: Recording | None = None
        if options["record"] is not None:
            beginning = Beginning(registers=registers, root=keys.authority.root.certificate.raw, rules=rules)
            recording = _recording(options["record"], server, beginning)
            opened.callback(recording.close)
        provider = StampProvider(clock, lambda question: keys.stamp(question, server.now))
        factory: object = FiscalSite(server, clock, behind_tls=bool(options["tls"]), stamps=provider)
        if options["tls"]:
            factory = TLSMemoryBIOFactory(_context(folder, clock, options), False, cast(Any, factory), clock)
        held = opened.pop_all()
    return SimulatedPeer(
        "tax-service",
        cast(IProtocolFactory, factory),
        server.scenario,
        server.entries,
        lambda: {**_state(server, recording), "stamps": {"answers": provider.answers, "given": provider.count}},
        {**actions(server, recording), "stamping": Action(partial(_stamping, provider), StampingChange)},
        held.close,
        remark=f", {'https' if options['tls'] else 'http'}, keys in {folder}",
    )


def _keys(folder: Path, clock: IReactorTime, seed: int | None) -> FiscalKeys:
    try:
        return open_keys(folder, _now(clock), seed)[0]
    except (CryptoError, OSError) as error:
        raise NotStarted(f"the keys in {folder} cannot be read: {error}") from None


def _recording(file: Path, server: FiscalServer, beginning: Beginning) -> Recording:
    try:
        return Recording(file, server, beginning)
    except OSError as error:
        raise NotStarted(f"the recording {file} cannot be written: {error.strerror or error}") from None


def _now(clock: IReactorTime) -> datetime:
    return datetime.fromtimestamp(clock.seconds(), UTC)


def _context(folder: Path, clock: IReactorTime, options: Chosen) -> Any:
    """TLS; registers name ``authority.pem`` in `server_ca`."""
    try:
        return local_context(folder, (options["listen"] or ("",))[0], clock.seconds())
    except (OSError, ValueError) as error:
        raise NotStarted(f"no TLS: {error}") from None


def actions(server: FiscalServer | CabinetServerSimulator, recording: Recording | None = None) -> dict[str, Action]:
    """What people do to a server."""

    def set_clock(change: Offset) -> None:
        if not abs(change.offset_s) <= LONGEST_OFFSET_S:
            raise NotPossible("ten years are enough", "offset_s")
        server.skew_s = change.offset_s

    def done(name: str, do: Callable[[Changeable, Any], object]) -> Callable[[Any], None]:
        def action(given: Any) -> None:
            try:
                do(server, given)
            except KeyError:
                raise NotPossible("no such register", "register") from None
            if recording is not None:
                recording.deed(name, given)

        return action

    found = {name: Action(done(name, do), body) for name, (body, do) in DEEDS.items()}
    return {"clock": Action(set_clock, Offset), **found}


def _state(server: FiscalServer, recording: Recording | None) -> dict[str, Any]:
    return {
        "now": server.now.isoformat(timespec="seconds"),
        "offset_s": server.skew_s,
        "registers": [_register(record, server) for record in server.books.registers.values()],
        **({} if recording is None else {"recorded": recording.count}),
    }


def _register(record: RegisterRecord, server: FiscalServer) -> dict[str, Any]:
    registration, offline = record.registration, record.offline
    blocked = record.blocked(server.now.replace(tzinfo=None))
    return {
        "number": registration.number,
        "local": registration.local,
        "tin": registration.tin,
        "closed": registration.closed,
        "shift_open": record.open_shift is not None,
        "next_local_number": record.next_local,
        "documents": len(record.documents),
        "offline_allowed": registration.offline_allowed,
        "offline_session": offline.id,
        "offline_documents": offline.ordinal,
        "offline_minutes_of_month": round(offline.month_minutes(), 1),
        "blocked_until": f"{record.blocked_until:%Y-%m-%dT%H:%M:%S}" if blocked else "",
        "operators": [operator.key for operator in registration.operators],
    }


def _cabinet_state(server: CabinetServerSimulator) -> dict[str, Any]:
    return {
        "now": server.now.isoformat(timespec="seconds"),
        "offset_s": server.skew_s,
        "registers": [_cabinet_register(record, server) for record in server.books.registers.values()],
    }


def _cabinet_register(record: CabinetRecord, server: CabinetServerSimulator) -> dict[str, Any]:
    registration = record.registration
    blocked = record.blocked(server.now.replace(tzinfo=None))
    return {
        "number": registration.number,
        "local": registration.local,
        "tin": registration.tin,
        "closed": registration.closed,
        "shift_open": record.shift is not None,
        "signer": record.shift.key if record.shift is not None else "",
        "next_local_number": record.next_local,
        "last_z": record.z,
        "hash": record.tip,
        "offline_allowed": registration.offline_allowed,
        "online": record.online,
        "reserved": len(record.reserved),
        "offline_minutes_of_month": round(record.offline.month_minutes(), 1),
        "blocked_until": f"{record.blocked_until:%Y-%m-%dT%H:%M:%S}" if blocked else "",
        "operators": [operator.key for operator in registration.operators],
    }


# Without a server


def make_key(options: Chosen, now: datetime) -> str:
    """Create a cashier's key in the simulator's folder; the line that describes it.

    :raises OSError: when it cannot be written.
    :raises ValueError: when the folder's own keys cannot be read.
    """
    folder: Path = options["keys"]
    cashier = Cashier(
        options["name"], options["tin"], options["person"], options["days"], options["password"], options["kind"]
    )
    try:
        keys, _ = open_keys(folder, now, options["seed"])
    except CryptoError as error:
        raise ValueError(f"the keys in {folder} cannot be read: {error}") from None
    place, who = write_cashier(folder, keys, options["file"], cashier, now, options["seed"])
    facts = who.certificate
    return (
        f"{place} (password {cashier.password}) and {options['file']}.cer: {cashier.name}, {cashier.tin}, until"
        f" {facts.valid_to:%Y-%m-%d}, key identifier {facts.key_id.hex()}"
    )


def play(file: Path) -> tuple[str, bool]:
    """Replay a recording: the result, and whether it is equal to the recording.

    :raises OSError: when the file cannot be read.
    :raises NoRecording: when it is not a recording.
    """
    with file.open("rb") as lines:
        count, found = replay(lines)
    differences = [str(difference) for difference in found]
    return "\n".join([*differences, f"{count} exchanges, {len(found)} different"]), not found
