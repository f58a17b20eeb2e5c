"""How databases are named by URLs."""

SQLITE = "sqlite:///"
"""How the URL of a SQLite file begins; what follows is its path."""

POSTGRES = "postgresql://"
"""How the URL of a PostgreSQL database begins, as libpq reads it."""

MSSQL = "mssql://"
"""How the URL of an MS SQL database begins (docs/databases.md)."""

URL_VARIABLE = "DMTWISTED_DATABASE_URL"
"""The environment variable that holds the URL when it is not an argument."""

CONNECT_WAIT = 10
"""Seconds to reach a database server."""

NOT_A_URL = "this is not the URL of a database; write signs in names and passwords as %40 and the like"
"""The complaint about a URL. It repeats nothing of the URL, which may hold a password."""
