"""One test module for each module; every docstring of a test is a promise."""
