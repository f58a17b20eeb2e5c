"""Rows as they are carried from one database to another, kept in a backup, counted and checked.

For commands and processes of their own: it loads the schema, with SQLAlchemy, and waits for the database.
"""
