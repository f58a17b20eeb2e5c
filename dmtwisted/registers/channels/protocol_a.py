"""What the tax service's error codes and words mean for a caller (docs/reference/tax-service.md#result-codes)."""

from __future__ import annotations

from dmtwisted.documents import documents
from dmtwisted.results import Refused, Res, Text
from protocols.fiscal import verdicts
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


def refusal_of(refused: verdicts.Refused, kind: str = "") -> Refused:
    """The refusal that stands for ``refused``.

    :param kind: of the document that was refused, when it was one.
    """
    if refused.code is None:
        return Refused(Res.TAX_SERVICE_ERROR, note=f"HTTP {refused.status}", aq_errortxt=refused.text)
    return refusal_by_words(refused.code, refused.text, kind)


def refusal_by_words(code: int, text: str, kind: str = "") -> Refused:
    """The refusal that stands for ``code`` with the words ``text``, which may say more than the code does."""
    return _refusal(code, text, _by_words(code, text.lower(), kind))


def refusal_by_code(code: int, text: str) -> Refused:
    """The refusal that stands for ``code``, whatever its words say."""
    return _refusal(code, text, None)


def _refusal(code: int, text: str, res: Res | None) -> Refused:
    # The server's number goes beside our text, its words into `aq_errortxt` alone: they may hold stems by which tills
    # recognise other errors (docs/reference/http-interface.md#error-texts).
    return Refused(
        res or _BY_CODE.get(code, Res.TAX_SERVICE_ERROR),
        note=Text(f"код ФС {code}", f"code {code} of the fiscal server"),
        aq_errortxt=text,
    )


def _by_words(code: int, text: str, kind: str) -> Res | None:
    """What the words say that the code does not; `None` when the code says it all."""
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
