"""What the pages show on which devices are added."""

from __future__ import annotations

REGISTER_SCRIPT = {
    **{
        name: f"wizard_{name}"
        for name in (
            *("examining", "key_good", "key_bad", "key_bad_text", "tax_silent", "tax_silent_text"),
            *("here_already", "open_elsewhere"),
            *("no_registers", "key_unknown", "other_firm", "register"),
        )
    },
    **{name: name for name in ("key_owner", "made_by", "valid_to", "days_left")},
}
"""The texts that the script of the wizard needs, by its own names for them."""
