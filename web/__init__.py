"""The door: HTTP, JSON, sessions and pages."""
