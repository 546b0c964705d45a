"""Ansible's strategy for the lab: Mitogen's, on all cores.

Mitogen pins Ansible and its workers to one core of a machine with two, because a switch between
cores costs it time.  Here that core was the limit.
"""

from __future__ import annotations

import ansible_mitogen.affinity
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

DOCUMENTATION = """
name: all_cores
short_description: Mitogen's linear strategy on all cores
description: Keeps one interpreter on each host, and pins no process to a core.
author: The plumbline developers (@hpcops)
"""
__all__ = ["StrategyModule"]

ansible_mitogen.affinity.policy = ansible_mitogen.affinity.Policy()
