"""Registers of Datecs, in both of their dialects."""
