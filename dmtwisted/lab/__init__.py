"""Benchmarks, crash lab and soak test, loaded only when their command is called."""
