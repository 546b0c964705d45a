"""Common types of all rooms: records, verdicts, layers, units and errors."""
