"""Register drivers: one module each, with its settings."""
