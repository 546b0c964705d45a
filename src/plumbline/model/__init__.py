"""Values that cross the borders between stages; no module here knows who uses it.

They are named tuples: frozen and typed like data classes, and a check that imports them starts
twice as fast, because :mod:`dataclasses` pulls in :mod:`inspect`.
"""
