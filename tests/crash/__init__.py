"""The real service, killed under load again and again."""
