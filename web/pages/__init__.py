"""The web interface for people: pages made on the server, kept alive by small scripts (specification 1.6)."""
