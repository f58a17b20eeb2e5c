"""A small stock of offline numbers, which a few receipts use up: only the lab's parent imports this."""

from __future__ import annotations

from dmtwisted.registers.channels import cabinet

FEW = 20
"""Fewer than half are enough for every scene that goes offline."""

cabinet.STOCK = FEW
