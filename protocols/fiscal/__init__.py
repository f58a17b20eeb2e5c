"""The protocol of the tax service's fiscal server."""
