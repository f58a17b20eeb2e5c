"""``/dm/api/v3/doctor``: checks of the service, what to do about them, and what it can fix itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.doctor.findings import Finding, FindingRecord, Fix, status
from web.answers import json_answer, language_of
from web.management import CHECKED, HttpRefusal, OneAtATime, answer_errors, lasting, read_object

if TYPE_CHECKING:
    from dmtwisted.doctor.service import Doctor


class FindingList(msgspec.Struct):
    """The findings of the last check, in the language of the caller; `dt` is empty before the first check."""

    dt: str
    status: Literal[0, 1, 2]
    findings: list[FindingRecord]


class Mend(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an order to fix something: the ``fix`` of a finding."""

    fix: Literal["permissions", "folder", "certificate", "backup"]


class Examination:
    """The checks of the service, imported on demand: they would cost the idle service half a megabyte."""

    def __init__(self, core: Core) -> None:
        self._core, self._called = core, False
        self._checking = OneAtATime(CHECKED)

    @cached_property
    def _doctor(self) -> Doctor:
        from dmtwisted.doctor.service import Doctor

        self._called = True
        return Doctor(self._core)

    @property
    def found(self) -> list[Finding]:
        """What the last check found."""
        return self._doctor.found if self._called else []

    @property
    def at(self) -> int | None:
        """When that was; `None` before the first check."""
        return self._doctor.at if self._called else None

    async def examine(self) -> list[Finding]:
        """Check everything.

        :raises Refused: when a check is already running.
        """
        with self._checking:
            return await self._doctor.examine()

    async def mend(self, fix: str) -> str:
        """Fix what ``fix`` names; the reason when that fails.

        :raises Refused: when a check is already running.
        """
        with self._checking:
            return await self._doctor.mend(Fix(fix))


class DoctorApi:
    """The checks for programs and for the settings page."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, examination: Examination, default_language: str) -> None:
        self._core, self._examination, self.default_language = core, examination, default_language

    @app.route("/dm/api/v3/doctor", methods=["GET"])
    def last(self, request: IRequest) -> bytes:
        """What the last check found; this checks nothing."""
        return self._answer(request)

    @app.route("/dm/api/v3/doctor", methods=["POST"])
    async def examine(self, request: IRequest) -> bytes:
        """Check everything now and try every device, without effect; takes as long as the slowest device."""
        await lasting(self._examination.examine())
        return self._answer(request)

    @app.route("/dm/api/v3/doctor/fix", methods=["POST"])
    async def mend(self, request: IRequest) -> bytes:
        """Fix what the `fix` of a finding names, then check again; 409 and the reason when that fails."""
        asked = read_object(request, Mend)
        why = await lasting(self._examination.mend(asked.fix))
        if why:
            raise HttpRefusal(409, why)
        await lasting(self._examination.examine())
        return self._answer(request)

    def _answer(self, request: IRequest) -> bytes:
        language = language_of(request, self.default_language)
        found, at = self._examination.found, self._examination.at
        found_all = FindingList(
            dt="" if at is None else stamp17(at),
            status=status(finding.level for finding in found),
            findings=[finding.record(language) for finding in found],
        )
        return json_answer(request, 200, found_all)
