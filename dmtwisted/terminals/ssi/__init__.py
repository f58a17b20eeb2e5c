"""Terminals with Servus firmware (Monobank, Raiffeisen and others) as a driver."""
