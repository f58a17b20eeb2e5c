"""BPOS1 terminals: the vendor's COM library in a process of its own, and the pipe to it (docs/reference/bpos1.md)."""
