"""Recognising ICS registers (docs/reference/registers.md#ics); no answer of theirs names the model."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from protocols.registers.finding import Found, Probe
from protocols.registers.ics.commands import SERIAL, ReadState
from protocols.registers.ics.link import IcsLink, IcsRegister, line_settings, numbers
from protocols.registers.numbered import Patience

PATIENCE = Patience(reply_wait=0.8, repeats=1)
"""A register that waits for a CRC takes it from the next copy, and asks for that one again."""


def _build(clock: IReactorTime) -> IcsLink:
    return IcsLink(clock, numbers(), patience=PATIENCE)


async def _ask(link: IcsLink) -> Found:
    register = IcsRegister(link)
    await register.meet()
    version = (await register.do(ReadState())).version
    return Found("ics", serial=(await register.memory(SERIAL)).text, firmware=version)


PROBE = Probe(line_settings, _build, _ask, speeds=(9600, 19200, 38400))
