"""Time stamps beside the signatures of a register's online documents (docs/reference/cryptography.md#time-stamps).

The tax service's text demands them, but as far as is known the server takes documents without them; so a setting
decides. Documents made offline need none.
"""

from __future__ import annotations

from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.registers.channels.interface import Away
from dmtwisted.results import Refused, Res
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError
from protocols.fiscal.client import Exchange
from protocols.fiscal.crypto import oids
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signing import signature_of, with_stamp
from protocols.fiscal.crypto.timestamps import REQUEST_TYPE, ask_for_stamp, new_nonce, read_stamp_answer

OFF, TRY, MUST = "off", "try", "must"
"""No stamps; a stamp when the provider gives one; no document without a stamp."""


class TimeStamps:
    """Asks a provider for time stamps.

    :param url: of the provider; empty is the one that the certificate names.
    :param must: whether a document without a stamp is refused.
    """

    log = Logger()

    def __init__(self, url: str, must: bool, exchange: Exchange, clock: ServiceClock) -> None:
        self._url, self._must, self._exchange, self._clock = url, must, exchange, clock

    async def stamped(self, message: bytes) -> bytes:
        """``message`` with a stamp beside its signature; without one if there is none and the settings allow that.

        :raises Refused: 1069 when a stamp is required and there is none, as `Away` when the provider is away; nothing
            was made then.
        """
        try:
            return await self._stamped(message)
        except WireError as error:
            why = error.reason if isinstance(error, NotReached) else str(error)
            refused: Refused = Away(wording(f"time stamp: {why}"), Res.SIGNING_FAILED)
        except CryptoError as error:
            why = str(error)
            refused = Refused(Res.SIGNING_FAILED, wording(f"time stamp: {why}"))
        if self._must:
            raise refused
        self.log.warn("a document goes without its time stamp: {why}", why=why)
        return message

    async def _stamped(self, message: bytes) -> bytes:
        signature, url = await self._clock.aside(_question_of, message)
        if not signature:
            return message
        url = self._url or url
        if not url:
            raise CryptoError("the certificate names no provider, and the settings do not either")
        nonce = new_nonce()
        question = await self._clock.aside(ask_for_stamp, signature, nonce)
        reply = await self._exchange("POST", url, {"Content-Type": REQUEST_TYPE}, question)
        if reply.status != 200:
            raise NotReached(f"the provider answers HTTP {reply.status}")
        return await self._clock.aside(
            lambda: with_stamp(message, read_stamp_answer(reply.body, signature, nonce, None))
        )


def _question_of(message: bytes) -> tuple[bytes, str]:
    """The signature to stamp, empty when it has a stamp already; and the provider that the certificate names."""
    parts = read(message)
    certificates = parts.certificates
    if any(oids.SIGNATURE_TIME_STAMP in signer.unsigned for signer in parts.signers):
        # A signing agent has obtained it already.
        return b"", ""
    return signature_of(message), certificates[0].stamp_url if certificates else ""
