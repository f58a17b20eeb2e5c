"""The goods of a shop without a till program, which its cashiers find by code, bar code or name."""
