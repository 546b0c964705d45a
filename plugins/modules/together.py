#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plug-in, which does the work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: together
short_description: Read a shared part on all its nodes at one moment
description:
  - Compares the clocks of the nodes that read a part, such as a controller between two servers,
    and starts their reads at one moment some seconds ahead.
  - It records and judges the sum of the reads on the first of these nodes.
  - It runs on the control host, once for all hosts of the play, and starts the units of the role
    shared_probe on the nodes.
  - A node that does not answer, or whose clock is off by more than a second, is left out. With half
    of the flows or more missing nothing is measured.
version_added: 0.2.0
author:
  - The plumbline developers (@hpcops)
options:
  plan:
    description: The plan of the site, as C(plumbline plan --json) prints it.
    type: dict
    required: true
  part:
    description: A part of the topology that only several reads at once expose, see
      C(plumbline topology check).
    type: str
    required: true
attributes:
  check_mode:
    description: Whether it can say what it would do and change nothing.
    support: full
    details: It names the nodes, and measures nothing.
notes:
  - Use it with C(run_once) in a play of the nodes, with the privileges of root there.
seealso:
  - module: hpcops.plumbline.probe
"""

EXAMPLES = r"""
- name: Read the disks behind a controller on both of its servers
  hpcops.plumbline.together:
    plan: "{{ agent_plan }}"
    part: array1-controller1
  run_once: true
  become: true
  register: read

- name: Show the sum against the ceiling
  ansible.builtin.debug:
    msg: "{{ read.sentence }}"
"""

RETURN = r"""
nodes:
  description: The nodes that read the part, the recording one first.
  returned: always
  type: list
  elements: str
sentence:
  description: The sum of the reads against the part's ceiling, or why it was not measured.
  returned: when not in check mode
  type: str
lines:
  description: The verdict, as C(plumbline probe shared) prints it.
  returned: when not in check mode
  type: list
  elements: str
at:
  description: The moment in seconds since the epoch.
  returned: when not in check mode
  type: int
records:
  description: The records of the nodes' flows.
  returned: when not in check mode
  type: list
  elements: dict
lost:
  description: Nodes that stopped answering, with the reason.
  returned: when not in check mode
  type: dict
"""
