#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plug-in, which does the work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: investigate
short_description: Find the slow component now
description:
  - Measures what still tells suspects apart, the least intrusive first, within a budget of time
    and bytes, and names slow components and failures.
  - It runs on the control host, once for all hosts of the play, and asks the nodes through their
    own connections.
  - It measures through the units of the timers and changes no setting.
  - Each step is shown before it is taken, with what is known by then.
  - A node that does not answer is left out, and the others go on.
  - Nodes of the plan that C(--limit) leaves out are not measured on; one sentence names them.
version_added: 0.1.0
author:
  - The plumbline developers (@hpcops)
options:
  plan:
    description: The plan of the site, as C(plumbline plan --json) prints it.
    type: dict
    required: true
  targets:
    description:
      - Targets, disks, hosts or other parts of the topology.
      - Without any, and without O(user_path), the whole file system.
    type: list
    elements: str
    default: []
  user_path:
    description: A file of a user, from the root on; the targets that hold it are asked about.
    type: str
  budget:
    description: How long it may take, such as V(90s), V(10m) or V(1h).
    type: str
    default: 5m
  budget_bytes:
    description: How many bytes it may move, such as V(50GB).
    type: str
    default: 1000TB
extends_documentation_fragment:
  - hpcops.plumbline.command
attributes:
  check_mode:
    description: Whether it can say what it would do and change nothing.
    support: full
    details: It reads the states of the nodes, shows its first measurement, and measures nothing.
notes:
  - Use it with C(run_once) in a play of the nodes, with the privileges of root there.
seealso:
  - module: hpcops.plumbline.probe
  - module: hpcops.plumbline.verdicts_info
"""

EXAMPLES = r"""
- name: Find the slow component behind one target
  hpcops.plumbline.investigate:
    plan: "{{ agent_plan }}"
    targets: [scratch-OST0003]
    budget: 10m
  run_once: true
  become: true
  register: investigation

- name: Show the suspects
  ansible.builtin.debug:
    msg: "{{ investigation.found.sentences }}"
  run_once: true
"""

RETURN = r"""
changed:
  description: Whether anything was measured.
  returned: success
  type: bool
found:
  description:
    - The last answer of C(plumbline investigate), as docs/debugging.md describes it.
    - The steps that were taken.
  returned: success
  type: dict
  contains:
    reason:
      description: Why it ended.
      type: str
      sample: certain
    sentences:
      description: Slow components, failures, and what is not known.
      type: list
      elements: str
    summary:
      description: How many measurements were slow, good, or do not vote.
      type: str
    next:
      description: In check mode the step that would be the first.
      type: dict
    slow:
      description: The suspects.
      type: dict
    failed:
      description: The suspects of what failed.
      type: list
      elements: dict
    steps:
      description: What was measured, in this order.
      type: list
      elements: dict
lost:
  description: Hosts of the play that gave no answer, with the reason.
  returned: success
  type: dict
  sample: {oss2: "No route to host"}
"""
