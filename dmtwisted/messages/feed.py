"""Hands out events from the store, to any number of readers that each know how far they have read."""
