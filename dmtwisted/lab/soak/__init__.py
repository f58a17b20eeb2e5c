"""The soak test: hours of ordinary work, and what grows meanwhile."""
