"""Access to the service: login, sessions, API keys, passwords, throttling, certificates. Nothing here uses HTTP."""
