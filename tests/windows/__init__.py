"""The service by a real Python for Windows under Wine, driven from Linux: its COM ports, its spooler, its HTTPS."""
