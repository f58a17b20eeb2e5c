"""Concert V2 terminals (France, serial) as a driver."""
