"""Hours of ordinary work at the real service, and what they do to it: ``dmtwisted soak``."""
