"""Webhooks: events of the service on their way to other programs, signed, in order, until they are taken."""
