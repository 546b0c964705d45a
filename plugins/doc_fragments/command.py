# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options for calling the command ``plumbline`` on the control host."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that module_utils/command.py declares."""

    DOCUMENTATION = r"""
options:
  command:
    description:
      - The command C(plumbline) as the start of an argument list.
    type: list
    elements: str
    default: [plumbline]
  source:
    description:
      - Checkout of plumbline whose package is used.
      - It needs a O(command) such as V([python3, -m, plumbline.cli]).
      - Without it the installed package is used.
    type: path
"""
