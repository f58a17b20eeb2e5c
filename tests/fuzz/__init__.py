"""Coverage-guided fuzzing of all code that reads foreign data: ``make fuzz`` (docs/reliability.md)."""
