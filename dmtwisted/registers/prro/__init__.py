"""The register at the tax service's own server: its settings, and what is loaded with the first one of them."""
