"""Alembic revisions: the schema of the store, step by step."""
