"""Store records, facts and documents in SQLite and in files for the checks."""
