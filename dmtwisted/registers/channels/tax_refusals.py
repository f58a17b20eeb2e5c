"""What a refusal of the fiscal server means for a caller (fiscal-server 9.2)."""

from __future__ import annotations

from dmtwisted.registers.channels.protocol_a import told_refusal
from dmtwisted.results import Refused, Res
from protocols.fiscal import verdicts


def refusal_of(refused: verdicts.Refused, kind: str = "") -> Refused:
    """The refusal that stands for ``refused``.

    The server's own code stands beside our text, its words in `aq_errortxt` alone: they may hold the stems by which
    tills recognise other errors.

    :param kind: of the document that was refused, when it was one.
    """
    if refused.code is None:
        return Refused(Res.TAX_SERVICE_ERROR, note=f"HTTP {refused.status}", aq_errortxt=refused.text)
    return told_refusal(refused.code, refused.text, kind)
