"""Benchmarks: the cost of a sale, as ratios within one run."""
