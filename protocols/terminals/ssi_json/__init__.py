"""The protocol of Servus Systems Integration: framed JSON, one question for each connection (terminals.md 5)."""
