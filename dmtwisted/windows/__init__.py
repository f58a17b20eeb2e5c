"""The Windows service: its child process, its wrapper for the Service Control Manager, its installation."""
