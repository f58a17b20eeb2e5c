"""The shift of a register as a table: what is allowed when (specification 3.1)."""

from __future__ import annotations

from typing import Protocol

from automat import TypeMachineBuilder

from dmtwisted.results import Refused, Res, Text


class Shift(Protocol):
    """The actions on a shift; each raises `Refused` when it is not allowed now."""

    def open(self) -> None:
        """Task 0."""

    def trade(self) -> None:
        """A receipt, cash in or cash out."""

    def report(self) -> None:
        """An X-report."""

    def close(self) -> None:
        """A Z-report."""


class ShiftCore:
    """No data: a shift is its state alone."""


_builder = TypeMachineBuilder(Shift, ShiftCore)
_closed = _builder.state("closed")
_opened = _builder.state("opened")

_closed.upon(Shift.open).to(_opened).returns(None)
_opened.upon(Shift.trade).loop().returns(None)
_opened.upon(Shift.report).loop().returns(None)
_opened.upon(Shift.close).to(_closed).returns(None)


@_opened.upon(Shift.open).loop()
def _already_open(_shift: Shift, _core: ShiftCore) -> None:
    raise Refused(Res.SHIFT_ALREADY_OPEN)


@_closed.upon(Shift.report).loop()
def _no_data(_shift: Shift, _core: ShiftCore) -> None:
    raise Refused(
        Res.X_REPORT_FAILED, note=Text("даних немає, касу не відкрито", "no data, the register is not open")
    )


@_closed.upon(Shift.trade).loop()
def _is_closed(_shift: Shift, _core: ShiftCore) -> None:
    raise Refused(Res.SHIFT_CLOSED)


@_closed.upon(Shift.close).loop()
def _already_closed(_shift: Shift, _core: ShiftCore) -> None:
    raise Refused(Res.SHIFT_ALREADY_CLOSED)


_machine = _builder.build()


def shift(is_open: bool) -> Shift:
    """A shift in this state."""
    return _machine(ShiftCore(), _opened if is_open else _closed)
