"""Everything durable: one interface, several databases."""
