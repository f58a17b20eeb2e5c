"""What the statuses of the cabinet's server mean for a caller (docs/reference/tax-cabinet.md#statuses)."""

from __future__ import annotations

import re

from dmtwisted.results import Refused, Res, Text
from protocols.fiscal import verdicts
from protocols.fiscal.cabinet.messages import Status

RES: dict[int, Res] = {
    Status.ERROR_VEREFY: Res.TAX_SERVICE_REJECTED_SIGNATURE,
    Status.ERROR_CHECK: Res.TAX_SERVICE_REJECTED_REGISTER,
    Status.ERROR_SAVE: Res.TAX_SERVICE_NOT_SAVED,
    Status.ERROR_UNKNOWN: Res.TAX_SERVICE_ERROR,
    Status.ERROR_TYPE: Res.TAX_SERVICE_WRONG_SEND_TYPE,
    Status.ERROR_NOT_PREV_ZREPORT: Res.TAX_SERVICE_PREVIOUS_Z_MISSING,
    Status.ERROR_XML: Res.TAX_SERVICE_WRONG_XML,
    Status.ERROR_XML_DATE: Res.TAX_SERVICE_WRONG_DATE,
    Status.ERROR_XML_CHK: Res.TAX_SERVICE_WRONG_DATA,
    Status.ERROR_XML_ZREPORT: Res.TAX_SERVICE_WRONG_Z,
    Status.ERROR_OFFLINE_168: Res.TAX_SERVICE_BLOCKED,
    Status.ERROR_BAD_HASH_PREV: Res.TAX_SERVICE_WRONG_HASH,
    Status.ERROR_NOT_REGISTERED_RRO: Res.TAX_SERVICE_UNKNOWN_REGISTER,
    Status.ERROR_NOT_REGISTERED_SIGNER: Res.TAX_SERVICE_UNKNOWN_KEY,
    Status.ERROR_NOT_OPEN_SHIFT: Res.TAX_SERVICE_DAY_NOT_OPEN,
    Status.ERROR_OFFLINE_ID: Res.TAX_SERVICE_WRONG_OFFLINE_NUMBER,
}
"""The refusal of each status; their order is that of the specification, 1032 to 1047."""

_STORE = re.compile(r"store\s+([0-9a-f]{64})", re.IGNORECASE)


def refusal_of(refused: verdicts.Refused) -> Refused:
    """The refusal that stands for ``refused``."""
    assert refused.code is not None
    # As of protocol A: the server's number goes beside our text, its words into `aq_errortxt` alone.
    return Refused(
        RES.get(refused.code, Res.TAX_SERVICE_ERROR),
        note=code_of(refused),
        aq_errortxt=refused.text,
    )


def code_of(refused: verdicts.Refused) -> Text:
    """The server's status, for beside our text."""
    return Text(f"код ФС {refused.code}", f"code {refused.code} of the fiscal server")


def tip_in(refused: verdicts.Refused) -> str:
    """The hash of the server's last document, as a refusal for a wrong hash names it; empty without one."""
    found = _STORE.search(refused.text) if refused.code == Status.ERROR_BAD_HASH_PREV else None
    return found[1].lower() if found is not None else ""
