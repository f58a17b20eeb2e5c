"""Coverage-guided fuzzing of everything that reads what others wrote: ``make fuzz`` (docs/reliability.md)."""
