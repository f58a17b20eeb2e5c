"""The gRPC server of the tax service's cabinet: its second protocol, called B."""
