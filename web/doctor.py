"""``/dm/api/v3/doctor``: is the service well, what is to be done, and what it can mend by itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.doctor.findings import Finding, FindingRecord, Fix, status
from dmtwisted.results import Refused, Res
from web.answers import error_answer, json_answer, language_of
from web.management import answer_errors, lasting, read_object

if TYPE_CHECKING:
    from dmtwisted.doctor.service import Doctor


class FindingList(msgspec.Struct):
    """What a look at everything found, in the language of the caller; `dt` is empty before the first look."""

    dt: str
    status: Literal[0, 1, 2]
    findings: list[FindingRecord]


class Mend(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a wish to have something mended: the ``fix`` of a finding."""

    fix: Literal["permissions", "folder", "certificate", "backup"]


class Examination:
    """The doctor, who comes when he is called for: the idle service does not carry him in memory."""

    def __init__(self, core: Core) -> None:
        self._core, self._called = core, False
        self._busy = False

    @cached_property
    def _doctor(self) -> Doctor:
        from dmtwisted.doctor.service import Doctor

        self._called = True
        return Doctor(self._core)

    @property
    def found(self) -> list[Finding]:
        """What the last look found."""
        return self._doctor.found if self._called else []

    @property
    def at(self) -> int | None:
        """When that was; `None` when nobody has looked yet."""
        return self._doctor.at if self._called else None

    async def examine(self) -> list[Finding]:
        """Look at everything.

        :raises Refused: when somebody does so already.
        """
        self._begin()
        try:
            return await self._doctor.examine()
        finally:
            self._busy = False

    async def mend(self, fix: str) -> str:
        """Mend what can be; why not when that fails.

        :raises Refused: when somebody is at it already.
        """
        self._begin()
        try:
            return await self._doctor.mend(Fix(fix))
        finally:
            self._busy = False

    def _begin(self) -> None:
        if self._busy:
            raise Refused(Res.DEVICE_BUSY, note="it is being looked at")
        self._busy = True


class DoctorApi:
    """The doctor for programs, and for the page's buttons."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, examination: Examination, default_language: str) -> None:
        self._core, self._examination, self.default_language = core, examination, default_language

    @app.route("/dm/api/v3/doctor", methods=["GET"])
    def last(self, request: IRequest) -> bytes:
        """What the last look found; nothing is looked at for this."""
        return self._told(request)

    @app.route("/dm/api/v3/doctor", methods=["POST"])
    async def examine(self, request: IRequest) -> bytes:
        """Look at everything now and try every device, without effect; takes as long as the slowest of them."""
        await lasting(self._examination.examine())
        return self._told(request)

    @app.route("/dm/api/v3/doctor/fix", methods=["POST"])
    async def mend(self, request: IRequest) -> bytes:
        """Mend what a finding's `fix` names, then look again; 409 and the reason when that fails."""
        asked = read_object(request, Mend)
        why = await lasting(self._examination.mend(asked.fix))
        if why:
            language = language_of(request, self.default_language)
            return error_answer(request, 409, Refused(Res.MALFORMED, why), language)
        await lasting(self._examination.examine())
        return self._told(request)

    def _told(self, request: IRequest) -> bytes:
        language = language_of(request, self.default_language)
        found, at = self._examination.found, self._examination.at
        found_all = FindingList(
            dt="" if at is None else stamp17(at),
            status=status(finding.level for finding in found),
            findings=[finding.record(language) for finding in found],
        )
        return json_answer(request, 200, found_all)
