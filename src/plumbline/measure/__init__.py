"""Measure one component at a time: tools, probe files and their placement, locks, runs."""
