"""What the tax service's error codes mean for a caller (fiscal-server 8 and 9.2)."""

from __future__ import annotations

from dmtwisted.results import Refused, Res

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


def rejection(code: int, text: str) -> Refused:
    """The refusal that stands for the tax service's ``code``.

    Its own number goes beside our text, its own words into `aq_errortxt`: they may hold stems by which tills
    recognise other errors (http-api 0.3.20).
    """
    res = _BY_CODE.get(code, Res.TAX_SERVICE_ERROR)
    return Refused(res, note=f"ФС {code}", aq_errortxt=text)
