"""The service as a classic register of Datecs, for till programs that know no other device (docs/registers.md)."""
