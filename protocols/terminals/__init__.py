"""Bank terminals: one module, or a small package, for each wire format."""
