"""The store in a Microsoft SQL Server database."""
