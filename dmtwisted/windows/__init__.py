"""The service under Windows' Service Control Manager: its child process, its wrapper, its installation."""
