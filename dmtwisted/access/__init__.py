"""Who gets in: login, sessions, API keys, passwords, throttling, certificates. It knows nothing of HTTP."""
