"""Evidence by violence: the real service, killed under load again and again."""
