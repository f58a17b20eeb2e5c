"""What every driver has to keep, as checks that anybody can run (docs/drivers.md)."""
