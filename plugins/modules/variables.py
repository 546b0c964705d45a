#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plug-in, which does the work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: variables
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Check the variables that a playbook takes
description:
  - Checks variables against their specification, as M(ansible.builtin.validate_argument_spec) does.
  - Before that, it refuses an extra variable whose name is nearly one of them, such as C(layers)
    for C(layer). Without it, Ansible ignores the variable, and all layers are measured.
options:
  argument_spec:
    description: The variables, in the form of a role's argument specification.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: It changes nothing.
notes:
  - Names of extra variables that are less alike are left alone; roles and connections take them.
seealso:
  - module: ansible.builtin.validate_argument_spec
"""

EXAMPLES = r"""
- name: Check the variables
  hpcops.plumbline.variables:
    argument_spec:
      layer:
        description: Where to measure (all).
        type: str
  run_once: true
"""

RETURN = r""" # """
