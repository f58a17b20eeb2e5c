"""ZVT: card terminals of Germany, Austria and Switzerland, over TCP or serial (docs/reference/zvt.md)."""
