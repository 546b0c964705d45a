"""Keep records and give them back: history in SQLite, and the snapshot that checks read.

``snapshot`` and ``excerpt`` read for the checks; the other modules write, and are never loaded by
one.  Nothing is imported here.
"""
