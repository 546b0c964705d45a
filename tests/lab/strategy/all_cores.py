"""Ansible's strategy for the lab: Mitogen's, on all cores, with workers that find all loaded.

Mitogen pins Ansible and its workers to one core of a machine with two, because a switch between
cores costs it time.  Here that core was the limit.

Each task on each host is a fork of Ansible.  Jinja's plugins, which Ansible loads when a template
first needs one, would be loaded by nearly every fork: a third of its time.
"""

from __future__ import annotations

import gc

import ansible_mitogen.affinity
from ansible.template import Templar, trust_as_template
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

DOCUMENTATION = """
name: all_cores
short_description: Mitogen's linear strategy on all cores
description: Keeps one interpreter on each host, and pins no process to a core.
author: The plumbline developers (@hpcops)
"""
__all__ = ["StrategyModule"]

ansible_mitogen.affinity.policy = ansible_mitogen.affinity.Policy()
for text in ("{{ 'a' | length }}", "{{ 'a' is defined }}"):
    Templar().template(trust_as_template(text))
Templar().evaluate_expression(trust_as_template("'a' | length > 0 and 'a' is defined"))
# the garbage collector of a fork would copy all that it looks at
gc.freeze()
