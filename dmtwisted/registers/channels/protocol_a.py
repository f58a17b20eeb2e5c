"""What the tax service's error codes and words mean for a caller (fiscal-server 8 and 9.2)."""

from __future__ import annotations

from dmtwisted.documents import documents
from dmtwisted.results import Refused, Res
from protocols.fiscal.error_codes import Code

_BY_CODE = {
    1: Res.TAX_SERVICE_UNKNOWN_REGISTER,
    2: Res.TAX_SERVICE_UNKNOWN_KEY,
    3: Res.TAX_SERVICE_WRONG_DATA,
    4: Res.TAX_SERVICE_REJECTED_REGISTER,
    5: Res.TAX_SERVICE_DAY_NOT_OPEN,
    6: Res.TAX_SERVICE_PREVIOUS_Z_MISSING,
    7: Res.TAX_SERVICE_WRONG_HASH,
    8: Res.Z_ALREADY_SENT,
    9: Res.TAX_SERVICE_WRONG_DATA,
    10: Res.TAX_SERVICE_WRONG_DATA,
    11: Res.TAX_SERVICE_ERROR,
    12: Res.TAX_SERVICE_REJECTED_SIGNATURE,
    13: Res.TAX_SERVICE_ERROR,
}

_BLOCKED = ("блокован", "168")
_SESSION = ("номер", "сесі", "режим")
_NUMBER = ("номер", "геш", "хеш", "менш")


def rejection(code: int, text: str) -> Refused:
    """The refusal that stands for the tax service's ``code``.

    Its own number goes beside our text, its own words into `aq_errortxt`: they may hold stems by which tills
    recognise other errors (http-api 0.3.20).
    """
    res = _BY_CODE.get(code, Res.TAX_SERVICE_ERROR)
    return Refused(res, note=f"ФС {code}", aq_errortxt=text)


def told_refusal(code: int, text: str, kind: str = "") -> Refused:
    """The refusal that stands for ``code`` with the words ``text``, which may tell more than the code does.

    :param kind: of the document that was refused, when it was one.
    """
    res = _by_words(code, text.lower(), kind)
    if res is None:
        return rejection(code, text)
    return Refused(res, note=f"ФС {code}", aq_errortxt=text)


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
