"""Golden bytes and figures, each with its source; none was printed by our own code."""
