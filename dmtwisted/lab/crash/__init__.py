"""The crash lab: a shop whose service is killed at named points, and a comparison of all books."""
