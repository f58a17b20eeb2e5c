"""Which devices there are, which drivers, and their settings."""
