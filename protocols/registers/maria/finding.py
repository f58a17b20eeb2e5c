"""Recognising Maria (docs/reference/registers.md#maria): it is woken and asked, its mode of frames stays as it is."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from protocols.registers.finding import Found, Probe
from protocols.registers.maria.commands import ReadConfiguration
from protocols.registers.maria.link import MariaLink, MariaRegister, Patience, line_settings

PATIENCE = Patience(wait=1.0, quiet=2.0, flush=0.5, wake=3.0)


def _build(clock: IReactorTime) -> MariaLink:
    return MariaLink(clock, PATIENCE)


async def _ask(link: MariaLink) -> Found:
    await link.wake()
    said = await MariaRegister(link).do(ReadConfiguration())
    return Found("maria", serial=said.serial, firmware=said.version)


PROBE = Probe(line_settings, _build, _ask, speeds=(115200, 57600))
