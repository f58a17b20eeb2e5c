"""One module for each wire that a terminal speaks."""
