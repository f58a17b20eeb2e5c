"""Devices that are there but not added: on this computer, in its network, at a given address. Nothing is printed."""
