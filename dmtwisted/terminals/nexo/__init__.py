"""Terminals that speak nexo, in the dialect of Adyen, as a driver."""
