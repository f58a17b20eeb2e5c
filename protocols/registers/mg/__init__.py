"""Registers of Help Micro that speak HTTP and JSON: MG-N707TS, MG-P777TL, MG-T808TL."""
