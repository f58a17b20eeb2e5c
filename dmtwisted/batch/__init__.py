"""Batch mode: the card, the receipt and the paper as one act (specification 4.6, http-api 5, docs/batch.md)."""
