"""Records, facts and documents: kept in SQLite and in files that checks read."""
