#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plug-in, which does the work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: records
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Bring records of nodes to the control host
description:
  - Brings what the hosts of the play have measured to the control host, as C(plumbline export) on
    each of them gives it. Nothing is changed on the nodes.
  - It runs once for all hosts of the play, and asks them through their own connections.
options:
  dest:
    description: A folder on the control host; a file for each host is written there.
    type: path
    required: true
  age_s:
    description: Seconds; records that began earlier are left out, by the clock of each node.
    type: float
    required: true
attributes:
  check_mode:
    support: full
    description: Records are read in check mode too, and the files are written.
notes:
  - Use it with C(run_once) in a play of the nodes, with the privileges of root there.
seealso:
  - module: hpcops.plumbline.baseline
"""

EXAMPLES = r"""
- name: Bring the records of the last 30 days
  hpcops.plumbline.records:
    dest: /tmp/records
    age_s: 2592000
  run_once: true
  become: true
  register: brought
"""

RETURN = r"""
files:
  description: The files, one for each host, with a record as JSON in each line.
  returned: success
  type: list
  elements: str
"""
