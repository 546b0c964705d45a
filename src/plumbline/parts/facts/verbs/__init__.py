"""Verbs that show facts: symptoms, changes, counters, jobs, latency."""
