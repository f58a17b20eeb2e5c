"""PrivatBank's terminals as a driver."""
