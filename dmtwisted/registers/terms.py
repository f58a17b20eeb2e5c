"""What is valid for a shift: the rates, names, rounding and requisites of the day on which it was opened."""

from __future__ import annotations

from collections.abc import Mapping

from dmtwisted.clock import ServiceClock, day_of
from dmtwisted.documents.catalogue import PayType, TaxGroup
from dmtwisted.documents.documents import Header
from dmtwisted.registers.arithmetic import Rates
from dmtwisted.registers.settings import RegisterSettings, on_day
from dmtwisted.registers.totals import RegisterState


class Terms:
    """The settings of one day, as documents need them."""

    def __init__(self, settings: RegisterSettings, fisid: str) -> None:
        self.settings, self.rates = settings, Rates(settings)
        self.groups: Mapping[int, TaxGroup] = {group.code: group for group in settings.tax_groups}
        self.payments: Mapping[int, PayType] = settings.payments
        self.header = Header(
            fisid=fisid,
            name=settings.name,
            shopname=settings.shopname,
            shopad=settings.shopad,
            vat_code=settings.vat_code,
            fis_code=settings.fis_code,
            lines_up=settings.header,
            lines_down=settings.footer,
            qr_minutes=settings.qr_time == "hhmm",
            marks_qr=settings.marks_qr,
            zero_change=settings.print_zero_change,
        )


class Calendar:
    """The terms of one register for each shift; most registers have one for all."""

    def __init__(self, settings: RegisterSettings, fisid: str, clock: ServiceClock) -> None:
        self._settings, self._fisid, self._clock = settings, fisid, clock
        self._only = None if settings.dated else Terms(settings, fisid)
        self._of_day: tuple[str, Terms] | None = None

    def name(self, fisid: str) -> None:
        """From now on the register has this fiscal number."""
        self._fisid, self._of_day = fisid, None
        self._only = None if self._settings.dated else Terms(self._settings, fisid)

    def of(self, state: RegisterState) -> Terms:
        """The terms of the open shift; of today while it is closed."""
        if self._only is not None:
            return self._only
        day = day_of(state.opened_at if state.shift_open else self._clock.now())
        if self._of_day is None or self._of_day[0] != day:
            self._of_day = day, Terms(on_day(self._settings, day), self._fisid)
        return self._of_day[1]
