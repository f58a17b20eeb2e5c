"""Processes, files, logs and service managers, in the same way on every operating system."""
