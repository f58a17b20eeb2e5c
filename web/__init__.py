"""HTTP, JSON, sessions and pages."""
