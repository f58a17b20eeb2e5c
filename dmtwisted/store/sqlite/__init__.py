"""The store in a SQLite file: one writer process owns the file; reads and writes go through its queue."""
