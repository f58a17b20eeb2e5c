"""Fiscal channels: where the engine hands in its documents."""
