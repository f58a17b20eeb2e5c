"""Bank terminals: what a task of ``type`` 3 comes to, whatever wire the terminal speaks."""
