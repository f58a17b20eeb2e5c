"""The crash lab: a shop, a service that is killed at named places, and a comparison of all books."""
