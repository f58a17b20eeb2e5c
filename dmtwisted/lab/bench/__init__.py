"""Benchmarks: what a sale costs, as ratios within one run."""
