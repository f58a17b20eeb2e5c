"""The training terminal: a simulated terminal with its bank, in the service itself."""
