"""Is the service well? Checks of the machine, the files and the devices, each with what to do about it."""
