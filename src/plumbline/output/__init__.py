"""Give verdicts their form: ``plugin`` for Nagios, ``table`` for people, ``runtime`` for a check.

Nothing is imported here: a check takes only what it needs.
"""
