"""What the pages show on which devices are added: banks, makers, and what was found.

Which bank has which protocol is known from docs/reference/terminals.md; where that says nothing, the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from dmtwisted.results import Text

REGISTER_SCRIPT = {
    **{
        name: f"wizard_{name}"
        for name in (
            *("examining", "key_good", "key_bad", "key_bad_text", "tax_silent", "tax_silent_text"),
            *("here_already", "open_elsewhere"),
            *("no_registers", "key_unknown", "other_firm", "register"),
            *("go_cabinet", "cabinet_refused", "cabinet_refused_text"),
        )
    },
    **{name: name for name in ("key_owner", "made_by", "valid_to", "days_left")},
}
"""The texts that the script of the wizard needs, by its own names for them."""

FOUND_SCRIPT = {
    name: f"found_{name}"
    for name in (
        *("nothing", "printer", "terminal", "serial", "add", "add_printer", "add_terminal", "here_already"),
        *("answers", "silent_printer", "silent_terminal", "progress", "none_printers", "none_terminals"),
        *("cancelled", "late", "no_network"),
    )
}
"""The same for the script of what is found."""

REGISTER_FOUND_SCRIPT = {
    name: f"find_out_{name}" for name in ("nobody", "closed", "late", "cancelled", "speed", "save", "other", "add")
}
"""The same for the button that finds out which register is there."""

GIVEN = frozenset({"interface", "host", "port", "serial_port", "baudrate", "device_file", "queue", "profile"})
"""Settings that a link may fill in: where a device is, and its family."""

LONGEST_GIVEN = 200


class Bank(NamedTuple):
    """A bank: the drivers for its terminals, and the protocols of its terminals that there is no driver for."""

    id: str
    name: Text
    drivers: tuple[str, ...] = ()
    others: str = ""

    @property
    def only(self) -> str:
        """Its driver, when there is nothing to choose; else empty."""
        return self.drivers[0] if len(self.drivers) == 1 and not self.others else ""


BANKS = (
    Bank("privatbank", Text("ПриватБанк", "PrivatBank"), ("privatbank-json",)),
    Bank("monobank", Text("monobank", "monobank"), ("ssi-json",)),
    Bank("oschadbank", Text("Ощадбанк", "Oschadbank"), ("bpos1",), "Oschadbank ECR"),
    Bank("raiffeisen", Text("Райффайзен", "Raiffeisen"), ("ssi-json",), "POSAPI"),
    Bank("pumb", Text("ПУМБ", "PUMB"), (), "POSAPI"),
    Bank("ukrsibbank", Text("UKRSIBBANK", "UKRSIBBANK"), ("bpos1",), "BPOS Light"),
    Bank("sense", Text("Сенс Банк", "Sense Bank"), ("bpos1",), "POSAPI"),
    Bank("abank", Text("А-Банк", "A-Bank"), ("bpos1",), "A-Bank JSON"),
    Bank("pivdennyi", Text("Південний", "Pivdennyi"), ("ssi-json", "bpos1"), "BPOS Light"),
    Bank("vostok", Text("Восток", "Vostok"), ("bpos1",), "BPOS Light"),
    Bank("ukrgazbank", Text("Укргазбанк", "Ukrgasbank")),
    Bank("adyen", Text("Adyen", "Adyen"), ("nexo",)),
    Bank("germany", Text("Німеччина, Австрія, Швейцарія", "Germany, Austria, Switzerland"), ("zvt",)),
    Bank("italy", Text("Італія", "Italy"), ("ecr17",)),
    Bank("france", Text("Франція", "France"), ("caisse-ap", "concert-v2")),
    Bank("other", Text("Інший банк", "Another bank")),
)
"""Banks, and countries whose banks have one protocol."""


class Maker(NamedTuple):
    """A make of receipt printers, with its driver and profile (docs/reference/printers.md#profiles)."""

    name: Text
    driver: str
    profile: str


MAKERS = (
    Maker(Text("Epson", "Epson"), "escpos", "epson"),
    Maker(Text("Star Micronics", "Star Micronics"), "star", "star"),
    Maker(Text("Citizen, Bixolon, Seiko", "Citizen, Bixolon, Seiko"), "escpos", "citizen"),
    Maker(Text("Rongta", "Rongta"), "escpos", "rongta"),
    Maker(Text("Wincor", "Wincor"), "escpos", "wincor"),
    Maker(Text("Інший або без назви, 80 мм", "Another one or without a name, 80 mm"), "escpos", "zjiang-80"),
    Maker(Text("Інший або без назви, 58 мм", "Another one or without a name, 58 mm"), "escpos", "zjiang-58"),
    Maker(Text("Друкує не ті літери: усе картинкою", "Wrong letters: everything drawn"), "escpos", "raster-80"),
)
"""Most printers without a name of their own are of the last families."""


def given_in(query: Mapping[str, str]) -> dict[str, str]:
    """The settings that a link fills in, ``s.host=…``, as texts."""
    named = {name.removeprefix("s."): text for name, text in query.items() if name.startswith("s.")}
    return {name: text for name, text in named.items() if name in GIVEN and len(text) <= LONGEST_GIVEN}


def carried(given: Mapping[str, str]) -> str:
    """The same as the end of a link to the next step."""
    return "".join(f"&{urlencode({f's.{name}': text})}" for name, text in given.items())
