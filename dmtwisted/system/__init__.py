"""What the operating system gives: processes, files, logs, service managers. The same on every system."""
