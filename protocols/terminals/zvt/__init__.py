"""ZVT: card terminals of Germany, Austria and Switzerland, over TCP or serial (terminals.md 7)."""
