"""What every driver has to keep, as checks that everyone can run (docs/drivers.md)."""
