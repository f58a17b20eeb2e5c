"""A printer as the service sees it: a way on which a job is delivered, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from protocols.printers.commands import Command
from protocols.printers.compose import Job
from protocols.printers.status import PrinterStatus
from protocols.printers.verdict import Verdict


@dataclass
class Delivering:
    """A job on its way.

    ``done`` fires with the verdict and does not fail; every way ends a delivery by itself when nothing moves any
    more. Cancelling it gives the job up. The verdict's ``reason`` is a name for which
    `dmtwisted.printing.result.reason_text` has words.
    """

    taken: Deferred[None]
    """Fires when the printer has every byte, if it comes to that before the verdict; does not fail."""
    done: Deferred[Verdict]
    begun: Callable[[], bool]
    """Whether anything that prints may have left."""
    trouble: Callable[[], str]
    """Why the printer stands still, as it told last: a name of a reason; empty when it told no such thing."""


class IPrinterWay(Interface):
    """How jobs come to one printer."""

    columns = Attribute("Letters in a line of normal size.")
    dots = Attribute("Dots across the paper.")
    page = Attribute("The code table in which text is written, or ``raster``.")

    def compose(commands: Sequence[Command]) -> Job:
        """The job that does ``commands`` on this printer."""

    def finder() -> Job:
        """The page by which a person finds the number of the printer's code table."""

    def deliver(job: Job) -> Delivering:
        """Begin to deliver ``job``; one at a time."""

    async def status() -> PrinterStatus | None:
        """How the printer is; `None` when this way tells nothing.

        :raises UnknownQueue: when the system has no such queue.
        :raises WireError: when it is not reached, or does not answer though its kind does.
        """

    def close() -> None:
        """Let go of the line; whoever delivers has given that up before."""
