"""Every fault of every simulated device, what the pages show of it, and what the cashier is advised.

The rows drive `tests.browser.test_faults`; ``python -m tests.browser.faults`` writes them into docs/reliability.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from dmtwisted.results import Res, Text
from tests.browser.stand import TERMINALS
from web.pages.words import WORDS

Deed = tuple[str, Any]
"""What is done to a device: the name of an action of its control interface, and its body."""

REPAIR: dict[str, Deed] = {
    "scenario": ("scenario", {"rules": []}),
    "pull": ("plug", None),
    "take_paper_out": ("load_paper", None),
    "load_paper": ("load_paper", {"mm": 30000}),
    "open_cover": ("close_cover", None),
    "break_down": ("mend", None),
    "stop": ("resume", None),
    "hinder": ("hinder", {"reasons": []}),
    "refuse_jobs": ("accept_jobs", None),
    "block": ("unblock", {"register": 4000000001}),
    "clock": ("clock", {"offset_s": 0}),
}
"""What repairs each of them."""


class Row(NamedTuple):
    """One fault.

    :param device: which one fails. :param fault: for the documentation. :param deed: makes it fail.
    :param shows: the sign on its card: a key of the pages' words.
    :param advice: what its card says to do; `None` after a task, whose answer says it.
    :param answer: the result of a sale, a payment or a print meanwhile; `None` where no task is needed to see it.
    """

    device: str
    fault: str
    deed: Deed
    shows: str
    advice: Text | None = None
    answer: Res | None = None


def rules(on: str, then: str, code: str = "", times: int = 0) -> dict[str, Any]:
    """A rule of a scenario, until it is repaired."""
    return {"on": on, "then": then, "code": code, "times": times}


def scenario(*those: dict[str, Any]) -> Deed:
    """What goes wrong until it is repaired."""
    return "scenario", {"rules": list(those)}


INTERNET = Text(
    "Перевірте інтернет. Як пробивати чеки тим часом, сторінка каси підкаже.",
    "Check the internet. The register's page says how to go on meanwhile.",
)
CABLE = Text(
    "Перевірте, чи пристрій увімкнено і чи під’єднано його кабель або мережу.",
    "Check that the device is switched on, and its cable or network.",
)
SELL_ON = Text(
    "Продавайте далі. Каса повернеться сама, коли відповість податкова; перевірте інтернет.",
    "Sell on. The register comes back by itself when the tax service answers; check the internet.",
)
ROLL = Text("Вставте новий рулон.", "Put in a new roll.")
SPARE_ROLL = Text("Приготуйте новий рулон.", "Have a new roll at hand.")
COVER = Text("Закрийте кришку, поки не клацне.", "Close the cover until it clicks.")
CAUSE = Res.DEVICE_ERROR.cashier

AWAY, GONE, BROKEN, FINE, UNKNOWN = "need_tax_away", "need_not_answering", "need_fault", "ready", "need_unfinished"

OFF = ("pull", None)
NOT_A_WORD = ("silent", "garbage", "lost_before", "unreachable")
"""What happens to a question, in the words of `docs/simulators.md`."""


def _registers() -> list[Row]:
    lost = rules("sale", "lost_after"), rules("probe", "unreachable")
    gone = rules("any", "unreachable"), rules("probe", "unreachable")
    return [
        Row("tax", "the tax service is off", OFF, AWAY, INTERNET),
        *(Row("tax", f"tax service: {then}", scenario(rules("probe", then)), AWAY, INTERNET) for then in NOT_A_WORD),
        Row("tax", "answer to a sale lost", scenario(rules("sale", "lost_after", times=1)), FINE, None, Res.OK),
        Row("tax", "hangs up at a sale", scenario(*gone), UNKNOWN, None, Res.COLLISION_NOT_REPAIRED),
        Row("tax", "off at a sale", OFF, AWAY, None, Res.TAX_SERVICE_UNREACHABLE),
        Row("tax", "sale refused", scenario(rules("sale", "refuse", "9")), "need_refused", None, REFUSED),
        *(Row("test", f"tax service: {then}", scenario(rules("probe", then)), AWAY, INTERNET) for then in NOT_A_WORD),
        Row("test", "answer to a sale lost", scenario(*lost), UNKNOWN, None, Res.COLLISION_NOT_REPAIRED),
        Row("test", "off at a sale, offline allowed", scenario(*gone), AWAY, SELL_ON, Res.OK),
    ]


def _printers() -> list[Row]:
    found = []
    for name in ("escpos", "star"):
        found += [
            Row(name, "off", OFF, GONE, CABLE),
            *(Row(name, then, scenario(rules("probe", then)), GONE, CABLE) for then in NOT_A_WORD),
            Row(name, "paper out", ("take_paper_out", None), "need_paper_out", ROLL),
            Row(name, "paper low", ("load_paper", {"mm": 150}), "need_paper_low", SPARE_ROLL),
            Row(name, "cover open", ("open_cover", None), "need_cover_open", COVER),
        ]
        for fault in ("cutter", "mechanical", "overheat", "unrecoverable"):
            found.append(Row(name, fault, ("break_down", {"fault": fault}), BROKEN, CAUSE))
    return [
        *found,
        Row("queue", "off", OFF, GONE, CABLE),
        *(Row("queue", then, scenario(rules("probe", then)), GONE, CABLE) for then in NOT_A_WORD),
        Row("queue", "stopped", ("stop", {"message": "Paper jam"}), BROKEN, CAUSE),
        Row("queue", "paper out", ("hinder", {"reasons": ["media-empty-error"]}), "need_paper_out", ROLL),
        Row("queue", "takes no jobs", ("refuse_jobs", None), BROKEN, CAUSE),
        *(Row("prn", then, scenario(rules("probe", then)), GONE, CABLE) for then in NOT_A_WORD),
        Row("prn", "paper out", scenario(rules("print", "refuse")), "need_paper_out", ROLL, Res.DEVICE_ERROR),
        Row("prn", "cover open", scenario(rules("print", "refuse", "cover")), "need_cover_open", COVER),
    ]


def _terminals() -> list[Row]:
    found = []
    for name in (*TERMINALS, "nexo", "pos"):
        if name != "pos":
            found.append(Row(name, "off", OFF, GONE, CABLE))
        if name not in PORT_ONLY:
            silent = scenario(rules("probe", "silent"))
            found += [Row(name, "silent", silent, GONE, CABLE)]
        lost = scenario(rules("payment", "lost_after", times=1))
        hung = scenario(rules("probe", "unreachable"), rules("payment", "lost_before"))
        for fault, deed, after in (
            ("card declined", scenario(rules("payment", "refuse", "51")), DECLINED),
            ("no line to the bank", scenario(rules("payment", "refuse", "no_link")), NO_LINK),
            ("answer to a payment lost", lost, LOST),
            ("hangs up at a payment", hung, HUNG),
        ):
            answer, shows = after.get(name, after[""])
            found.append(Row(name, fault, deed, shows, None, answer))
    return found


REFUSED = Res.TAX_SERVICE_WRONG_DATA
PORT_ONLY = ("zvt", "caisse-ap")
"""Terminals that have no question that disturbs nobody: they are known to be off, or by their payments."""

After = dict[str, tuple[Res, str]]
"""The result of a payment and the sign after it, by terminal."""

DECLINED: After = {
    "": (Res.INSUFFICIENT_FUNDS, FINE),
    "ecr17": (Res.BANK_MESSAGE, FINE),
    "nexo": (Res.BANK_MESSAGE, FINE),
    "caisse-ap": (Res.BANK_REFUSED, FINE),
    "concert-v2": (Res.BANK_REFUSED, FINE),
}
# These wires do not tell a bank that is away from a bank that refuses.
NO_LINK: After = {
    "": (Res.NO_BANK_CONNECTION, BROKEN),
    "ecr17": (Res.BANK_MESSAGE, FINE),
    "caisse-ap": (Res.TERMINAL_ERROR, FINE),
    "concert-v2": (Res.TERMINAL_ERROR, FINE),
}
# These have no question for the last payment.
LOST: After = {"": (Res.OK, FINE), "caisse-ap": (Res.INTERNAL, UNKNOWN), "concert-v2": (Res.INTERNAL, UNKNOWN)}
HUNG: After = {
    "": (Res.TERMINAL_CONNECT, GONE),
    "caisse-ap": (Res.TERMINAL_UNREACHABLE, GONE),
    "concert-v2": (Res.HANDSHAKE_SILENT, GONE),
    "pos": (Res.TERMINAL_ADDRESS_UNREACHABLE, GONE),
}

ROWS: tuple[Row, ...] = (*_registers(), *_printers(), *_terminals())

PAGE = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- made by python -m tests.browser.faults -->\n", "<!-- end of the faults -->\n"


def table() -> str:
    """The table: what the page shows and advises, and the faults with that."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in ROWS:
        advice = [row.advice.en] if row.advice is not None else []
        if row.answer is not None and row.answer is not Res.OK:
            advice.append(f"{row.answer.code}")
        faults = groups.setdefault((WORDS[row.shows].en, " ".join(advice)), {})
        faults.setdefault(row.fault.replace("tax service: ", ""), []).append(row.device)
    lines = ["|Sign|Advice|Faults|", "|---|---|---|"]
    for (sign, words), faults in groups.items():
        by_devices: dict[str, list[str]] = {}
        for fault, devices in faults.items():
            by_devices.setdefault(" ".join(f"`{device}`" for device in devices), []).append(fault)
        cells = [f"{devices} {', '.join(those)}" for devices, those in by_devices.items()]
        lines.append(f"|{sign}|{words}|{'; '.join(cells)}|")
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
