"""Documents that were made offline, on their way to the far end, package after package (fiscal-server 7.3)."""

from __future__ import annotations

from dmtwisted.crash_points import reached
from dmtwisted.registers.bookkeeping import UNTAGGED
from dmtwisted.registers.channels.interface import IFiscalChannel, Rejected, Unknown
from dmtwisted.registers.lost_online import begin_to_send, read_revocation
from dmtwisted.registers.totals import Offline, Session
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore

PACKAGE = 100
"""Documents of one package; the end of the session follows in one of its own."""


class HandingIn:
    """What one register has to hand in.

    A package without the session's end is no operation: whether it arrived or not, the register stays offline and
    goes on selling, and the far end tells the next time how far it has them. So only the end itself, a package of one
    document, can leave something unknown behind.
    """

    def __init__(self, device_n: int, store: IStore, channel: IFiscalChannel) -> None:
        self._n, self._store, self._channel = device_n, store, channel
        # The last local number that the far end confirmed; after a restart it is asked from the begin on.
        self._there = 0

    async def package(self, offline: Offline, session: Session) -> bool:
        """Hand in the next package of the session that is under way.

        :returns: whether more may be waiting.
        :raises Refused: why nothing went on: 1050 when nothing left, 1084 when nobody knows, or as it was refused.
            In each case the same documents are due next. 1074 when another document than ours has the first number.
        """
        first = offline.first
        waiting = await self._store.sent_documents(self._n, max(first, self._there + 1), PACKAGE)
        if not waiting:
            return False
        package = [sent for _, sent in waiting]
        if offline.lost and waiting[0][0] == first:
            lost = await read_revocation(self._store, self._n, UNTAGGED, first)
            package[0] = await begin_to_send(self._store, self._channel, lost, first, package[0])
        outcome = await self._channel.upload(package, session)
        reached("offline.package-sent")
        if isinstance(outcome, Rejected):
            raise outcome.refused
        if isinstance(outcome, Unknown):
            raise Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=outcome.why)
        self._there = waiting[-1][0]
        return len(waiting) == PACKAGE
