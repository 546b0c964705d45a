# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that run on a node with plumbline."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that module_utils/on_node.py declares."""

    DOCUMENTATION = r"""
options:
  expectations:
    description: The document of the role agent that says what this node measures.
    type: path
    default: /etc/plumbline/expectations.json
notes:
  - Runs on a node that M(hpcops.plumbline.plan) has in its plan and site.yml has deployed.
"""
