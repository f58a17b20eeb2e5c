"""What a refusal of the fiscal server means for a caller, by its code and by its words (fiscal-server 9.2)."""

from __future__ import annotations

from dmtwisted.registers import documents
from dmtwisted.registers.channels.protocol_a import rejection
from dmtwisted.results import Refused, Res
from protocols.fiscal import verdicts
from protocols.fiscal.error_codes import Code

_BLOCKED = ("блокован", "168")
_SESSION = ("номер", "сесі", "режим")
_NUMBER = ("номер", "геш", "хеш", "менш")


def refusal_of(refused: verdicts.Refused, kind: str = "") -> Refused:
    """The refusal that stands for ``refused``.

    The server's own code stands beside our text, its words in `aq_errortxt` alone: they may hold the stems by which
    tills recognise other errors.

    :param kind: of the document that was refused, when it was one.
    """
    if refused.code is None:
        return Refused(Res.TAX_SERVICE_ERROR, note=f"HTTP {refused.status}", aq_errortxt=refused.text)
    res = _by_words(refused.code, refused.text.lower(), kind)
    if res is None:
        return rejection(refused.code, refused.text)
    return Refused(res, note=f"ФС {refused.code}", aq_errortxt=refused.text)


def _by_words(code: int, text: str, kind: str) -> Res | None:
    """What the words tell that the code does not; `None` when the code says it all."""
    if code not in (Code.DOCUMENT_VALIDATION_ERROR, Code.PACKAGE_VALIDATION_ERROR):
        return None
    if any(word in text for word in _BLOCKED):
        return Res.TAX_SERVICE_BLOCKED
    if "офлайн" in text and any(word in text for word in _SESSION) and "дозвол" not in text:
        return Res.TAX_SERVICE_WRONG_OFFLINE_NUMBER
    if code == Code.PACKAGE_VALIDATION_ERROR:
        # Every text of a package speaks of a document's number in the package; what follows is the reason.
        reason = text.rpartition(": ")[2]
        return Res.TAX_SERVICE_WRONG_HASH if any(word in reason for word in _NUMBER) else None
    if "xml" in text or "xsd" in text:
        return Res.TAX_SERVICE_WRONG_XML
    if "час" in text and "серв" in text:
        return Res.TAX_SERVICE_WRONG_DATE
    if "etunknown" in text or "підпис" in text:
        return Res.TAX_SERVICE_REJECTED_SIGNATURE
    if kind == documents.Z:
        return Res.TAX_SERVICE_WRONG_Z
    return None
