"""One module for each kind of printer."""
