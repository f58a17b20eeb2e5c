"""PrivatBank's terminal protocol: JSON messages that end with a zero byte (docs/reference/privatbank-json.md)."""
