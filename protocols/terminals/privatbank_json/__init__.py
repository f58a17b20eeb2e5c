"""PrivatBank's cash register protocol: JSON messages that end with a zero byte (terminals.md 4)."""
