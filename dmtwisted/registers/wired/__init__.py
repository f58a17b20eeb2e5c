"""Hardware registers on a wire: a machine for each protocol, behind the engine of the software register."""
