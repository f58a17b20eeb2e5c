"""The laboratory: benchmarks, crash lab and soak test. Loaded only when their command is called."""
