"""Maria-301 and 304 of Resonance."""
