"""Rows copied from one database to another, kept in a backup, counted and checked.

For commands and separate processes: it loads the schema, with SQLAlchemy, and blocks.
"""
