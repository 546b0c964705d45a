"""Sweeps: one parallel run after another, each with other writers, transfers, stripes, targets.

What a sweep's points are, in which order they are measured, what they will cost, and what they say
when they are there.
"""
