"""The tax service's fiscal server: what its documents are made of."""
