"""The web interface in a real browser: what people do with it, from the first click to the healed line."""
