"""What the pages of sales and goods show."""

from __future__ import annotations

from typing import Any

from dmtwisted.core import Core
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.papers import DEFAULT_PRINTER


def desk(core: Core, device: Device, printers: list[str]) -> dict[str, Any]:
    """What the script of a sale has to know of its register."""
    settings = register_settings(device)
    batch = settings.batch
    usual = (batch.printer if batch is not None else "") or DEFAULT_PRINTER
    return {
        "device": device.name,
        "dev_id": device.row.dev_id,
        "groups": [
            {"code": str(group.code), "letter": group.letter, "name": group.name}
            for group in settings.tax_groups
            if group.enabled
        ],
        "group": str(settings.default_taxgrp or ""),
        "terminal": batch.terminal if batch is not None else "",
        "printer": usual if usual in printers else printers[0] if printers else "",
        "batch_printer": usual,
        "mail": bool(core.settings.now.smtp_host),
    }
