"""Keep records and give them back: history in SQLite, and the documents that checks read.

``verdicts``, ``snapshot`` and ``paths`` read for the checks; the other modules write, and are never
loaded by one.  Nothing is imported here.
"""
