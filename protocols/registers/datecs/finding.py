"""Recognising registers of Datecs, and which dialect they speak (docs/reference/registers.md#datecs-frame).

The first question is one of the Ukrainian dialect, and no command of the classic one has its code: a classic register
refuses it. Each answer of the Ukrainian dialect begins with an error, also that of a wrong password.
"""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from protocols.errors import Garbled
from protocols.registers.datecs import classic, ukrainian
from protocols.registers.datecs.link import ClassicRegister, DatecsLink, line_settings, numbers
from protocols.registers.finding import Found, Probe
from protocols.registers.numbered import Patience
from protocols.registers.troubles import DeviceRefused

PATIENCE = Patience(reply_wait=0.6, repeats=1)
"""Short: a register begins its answer within 60 ms, and a converter needs some more."""

LIMIT = 3.0


def _build(clock: IReactorTime) -> DatecsLink:
    return DatecsLink(clock, numbers(), PATIENCE)


async def _ask(link: DatecsLink) -> Found:
    question = ukrainian.ReadFirmware()
    # The answer to a number may be an old one.
    await link.greet(question.code, question.encode(), LIMIT)
    frame = await link.ask(question.code, question.encode(), LIMIT)
    try:
        said = ukrainian.Firmware.decode(frame.data)
    except DeviceRefused:
        return Found("datecs")
    except Garbled:
        return await _ask_classic(link)
    return Found("datecs", said.model, firmware=f"{said.version} {said.date}")


async def _ask_classic(link: DatecsLink) -> Found:
    model, _, firmware = (await ClassicRegister(link).do(classic.ReadVersion(), LIMIT)).text.partition(",")
    return Found("datecs_classic", model, firmware=firmware)


PROBE = Probe(line_settings, _build, _ask)
