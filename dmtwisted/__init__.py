"""The rooms: tasks, devices, turns, the journal, the register engine, the store and the settings."""

__version__ = "0.1.0"
