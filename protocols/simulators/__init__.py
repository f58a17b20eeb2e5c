"""Device ends of the wires: simulators with the rules of the real thing."""
