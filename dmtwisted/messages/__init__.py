"""Messages out: what happened, as other programs get it."""
