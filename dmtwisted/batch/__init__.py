"""Batch mode: card payment, receipt and paper as one operation (specification 4.6, docs/batch.md)."""
