"""Journal of entries in one SQLite file: tables, reader, writer and verification."""
