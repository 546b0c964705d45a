#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plug-in, which does the work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: through
short_description: Measure the pairs of hosts through one switch, line card or uplink
description:
  - Measures the network between the pairs of hosts whose path crosses a part, slot by slot, the
    pairs of a slot at once. Hosts whose partner in a slot is not reached through it stay out.
  - It adds the rates of each slot and compares the sum with what the topology lets these pairs
    carry together.
  - It runs on the control host, once for all hosts of the play, and starts the units of the role
    net_probe on the nodes.
  - A pair with a node that does not answer is left out.
version_added: 0.2.0
author:
  - The plumbline developers (@hpcops)
options:
  plan:
    description: The plan of the site, as C(plumbline plan --json) prints it.
    type: dict
    required: true
  part:
    description: A part of the topology that pairs of hosts cross.
    type: str
    required: true
  balanced:
    description: Whether only as many pairs measure as all parts carry at their full speed.
    type: bool
    default: false
extends_documentation_fragment:
  - hpcops.plumbline.command
attributes:
  check_mode:
    description: Whether it can say what it would do and change nothing.
    support: full
    details: It names the slots, and measures nothing.
notes:
  - Use it with C(run_once) in a play of the nodes, with the privileges of root there.
seealso:
  - module: hpcops.plumbline.probe
  - module: hpcops.plumbline.together
"""

EXAMPLES = r"""
- name: Measure all pairs of hosts through a switch
  hpcops.plumbline.through:
    plan: "{{ agent_plan }}"
    part: leaf1
  run_once: true
  become: true
  register: measured

- name: Show the sums against their ceilings
  ansible.builtin.debug:
    msg: "{{ measured.lines }}"
"""

RETURN = r"""
slots:
  description: The slots of the rounds that were measured, or would be.
  returned: always
  type: list
  elements: int
sums:
  description: For each slot and direction the number of pairs, C(moved_Bps), C(ceiling_Bps), the
    parts that limit it, and the pairs that are slow by themselves.
  returned: when not in check mode
  type: list
  elements: dict
lines:
  description: The same as a table, with a sentence for each direction.
  returned: when not in check mode
  type: list
  elements: str
lost:
  description: Nodes that stopped answering, with the reason.
  returned: when not in check mode
  type: dict
"""
