"""Caisse-AP terminals (France, over the network) as a driver."""
