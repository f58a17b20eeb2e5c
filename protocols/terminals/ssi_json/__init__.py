"""The protocol of Servus Systems Integration: framed JSON, one request a connection (docs/reference/ssi-json.md)."""
