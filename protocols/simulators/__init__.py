"""Simulators: the devices' side of the wires, with the real devices' rules."""
