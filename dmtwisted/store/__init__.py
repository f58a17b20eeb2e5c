"""Where everything durable lives: one interface, several databases."""
