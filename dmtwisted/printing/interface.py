"""The interface of a printer: a way that delivers jobs and returns their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from protocols.printers.compose import Job
from protocols.printers.status import PrinterStatus
from protocols.printers.verdict import Verdict


@dataclass
class Delivering:
    """A job that is being delivered.

    ``done`` fires with the verdict and does not fail; the way ends a delivery by itself when it makes no progress.
    Cancelling it gives the job up. The verdict's ``reason`` is a name for `dmtwisted.printing.result.reason_text`.
    """

    taken: Deferred[None]
    """Fires when the printer has every byte, if that is before the verdict; does not fail."""
    done: Deferred[Verdict]
    begun: Callable[[], bool]
    """Whether anything that prints may have been sent."""
    trouble: Callable[[], str]
    """Why the printer does not print, by its last status: a name of a reason, or empty."""


class IPrinterWay(Interface):
    """The connection to one printer."""

    columns = Attribute("Letters in a line of normal size.")
    dots = Attribute("Dots across the paper.")
    profile = Attribute("What the printer can do: `protocols.printers.profiles.Profile`.")

    def finder() -> Job:
        """The page on which a person finds the number of the printer's code table."""

    def deliver(job: Job) -> Delivering:
        """Begin to deliver ``job``; one at a time."""

    asked = Attribute("Whether it can be asked for its status beside jobs.")

    async def status() -> PrinterStatus | None:
        """The status of the printer; `None` when it cannot be queried on this way.

        :raises UnknownQueue: when the system has no such queue.
        :raises WireError: when the printer cannot be reached, or does not answer although its family does.
        """

    def close() -> None:
        """Close the line; a delivery was given up before."""
