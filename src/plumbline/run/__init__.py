"""Carry out the measurements that a node's expectations ask for: expectations -> records.

The edge of plumbline: commands, locks and clocks live here and nowhere below.
"""
