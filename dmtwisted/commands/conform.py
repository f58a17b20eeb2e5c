"""``dmtwisted conform``: run the conformance suite on drivers and report their levels (docs/drivers.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from twisted.logger import globalLogBeginner
from twisted.python import usage

from dmtwisted.commands.console import complain
from dmtwisted.commands.options import CommandOptions, did_you_mean
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import configuration
from dmtwisted.conformance.levels import LEVELS, SUITE, Found, key_of, save
from dmtwisted.conformance.suite import MODULES, NoStand, Report, checks_of, report, stands_at, stands_of
from dmtwisted.devices.driver import Driver
from dmtwisted.devices.drivers import find_drivers

KINDS = tuple(MODULES)


class ConformOptions(CommandOptions):
    """``dmtwisted conform``"""

    synopsis = "[--kind KIND] [--driver NAME | --stand MODULE:NAME] [options]"
    longdesc = (
        "Run the conformance suite on one driver or on all. Exit status 1 when a driver is below the wanted level. "
        "Nothing leaves the machine: the devices are simulators in this process."
    )
    optParameters: ClassVar = [
        ["kind", "k", None, "Only drivers of this kind: terminal, printer or register."],
        ["driver", "d", None, "Only the driver with this name."],
        ["stand", "s", None, "MODULE:NAME of a stand, for a driver that is not installed."],
        ["level", "l", 1, "The wanted level.", int],
        ["only", "o", None, "Run only these checks (names separated by commas) and determine no level."],
        ["state", None, None, "The state folder for --save."],
        ["config", "c", None, "The configuration file that names the state folder for --save."],
    ]
    written: ClassVar = {"kind": "KIND"}
    optFlags: ClassVar = [
        ["list", None, "List the checks and what they promise; run none."],
        ["verbose", "v", "List passed checks too."],
        ["json", None, "Print JSON."],
        ["save", None, "Store the level, so that the service shows it; for third-party drivers."],
    ]

    def postOptions(self) -> None:
        """Check that the options fit together."""
        if self["kind"] is not None and self["kind"] not in KINDS:
            raise usage.UsageError(f"--kind is one of {', '.join(KINDS)}")
        if self["save"] and (self["only"] or self["stand"]):
            raise usage.UsageError("--save stores the level of a whole suite on an installed driver")
        if not 0 <= self["level"] <= max(LEVELS):
            raise usage.UsageError(f"--level is 0 to {max(LEVELS)}")


def run(options: ConformOptions) -> int:
    """Run it; 1 when a driver is below the wanted level, or no driver was found."""
    if options["list"]:
        _list([options["kind"]] if options["kind"] else list(KINDS))
        return 0
    # Faults are reported with the check that found them, not where they happened.
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)
    lacking: list[str] = []
    groups = list(_groups(options, lacking))
    for why in lacking:
        complain(why)
    if not groups:
        if not lacking:
            known = [name for kind, name in find_drivers() if options["kind"] in (None, kind)]
            near = did_you_mean(options["driver"] or "", known)
            complain(f"there is no such driver{near}", f"Drivers: {', '.join(known)}.")
        return 1
    found: dict[str, Found] = {}
    described = []
    for driver, reports in groups:
        level = min(each.level for each in reports)
        found[key_of(driver)] = Found(level, SUITE, driver.origin)
        described.append(_to_json(driver, reports, level))
        if not options["json"]:
            _show(driver, reports, level, options)
    if options["json"]:
        print(json.dumps({"suite": SUITE, "drivers": described}, ensure_ascii=False, indent=2))
    if options["save"]:
        save(configuration(options).state, {key: one for key, one in found.items() if one.origin})
    if options["only"]:
        return int(bool(lacking) or any(each.failed for _, reports in groups for each in reports))
    return int(bool(lacking) or any(one.level < options["level"] for one in found.values()))


Group = tuple[Driver, list[Report]]
"""A driver, and what was found on each of its stands."""


def _groups(options: ConformOptions, lacking: list[str]) -> Iterator[Group]:
    """Run the chosen drivers; ``lacking`` gets the reasons why a driver could not be tested."""
    only = [name.strip() for name in (options["only"] or "").split(",") if name.strip()]
    if options["stand"]:
        try:
            stands = stands_at(options["stand"])
        except NoStand as error:
            lacking.append(str(error))
        else:
            yield stands[0].driver, [report(stand, only) for stand in stands]
        return
    chosen = [
        driver
        for (kind, name), driver in sorted(find_drivers().items())
        if kind in KINDS and options["kind"] in (None, kind) and options["driver"] in (None, name)
    ]
    with ProgressBar("drivers") as progress:
        for driver in progress.each(chosen, lambda driver: f"{driver.kind} {driver.name}"):
            try:
                stands = stands_of(driver)
            except NoStand as error:
                lacking.append(str(error))
                continue
            yield driver, [report(stand, only) for stand in stands]


def _list(kinds: list[str]) -> None:
    for kind in kinds:
        print(f"{kind}:")
        for one in checks_of(kind):
            needs = f" Needs {', '.join(one.needs)}." if one.needs else ""
            print(f"  {one.level} {one.name}: {one.promise}{needs} ({one.source})")


def _show(driver: Driver, reports: list[Report], level: int, options: ConformOptions) -> None:
    for each in reports:
        for result in each.results:
            if result.wrong:
                print(f"  FAILED {result.check.level} {result.check.name}: {result.check.promise}")
                print(f"         {result.wrong}")
            elif options["verbose"]:
                print(f"  {'passed' if result.passed else result.skipped}: {result.check.level} {result.check.name}")
        passed = sum(result.passed for result in each.results)
        skipped = sum(bool(result.skipped) for result in each.results)
        print(f"{each.stand.title}: {passed} passed, {len(each.failed)} failed, {skipped} do not apply")
    if not options["only"]:
        lacking = ", ".join(sorted(frozenset[str]().union(*(each.without for each in reports))))
        without = f" without {lacking}" if lacking else ""
        print(f"{driver.kind} {driver.name}: level {level} ({LEVELS[level]}){without}, suite {SUITE}\n")


def _to_json(driver: Driver, reports: list[Report], level: int) -> dict[str, Any]:
    return {
        "kind": driver.kind,
        "driver": driver.name,
        "level": level,
        "stands": [
            {
                "stand": each.stand.title,
                "checks": [
                    {
                        "name": result.check.name,
                        "level": result.check.level,
                        "passed": result.passed,
                        "wrong": result.wrong,
                        "skipped": result.skipped,
                    }
                    for result in each.results
                ],
            }
            for each in reports
        ],
    }
