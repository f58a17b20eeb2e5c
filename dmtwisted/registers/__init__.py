"""Fiscal registers: the interface, the software engine, its channels and drivers."""
