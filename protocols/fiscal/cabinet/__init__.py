"""The wire of the tax service's second server, protocol B: messages and documents (docs/reference/tax-cabinet.md)."""
