"""Golden bytes and figures, each with where it comes from; never printed by our own code."""
