# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mounts and directories of the targets of a node."""

from __future__ import annotations

DOCUMENTATION = r"""
name: target_folders
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Mounts and directories of targets
description:
  - Returns where targets are reached, each place once.
  - A file system with many targets, such as Lustre or GlusterFS, is a mount; any other target has a
    directory of its own. A target that is a device has neither.
options:
  _input:
    description: Targets, as the entries of a plan have them.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
folders: "{{ entries | map(attribute='target') | hpcops.plumbline.target_folders }}"
# {'mounts': ['/mnt/scratch'], 'directories': []}
"""

RETURN = r"""
_value:
  description: C(mounts) and C(directories), each a list of paths in the order of the targets.
  type: dict
"""

from typing import Any, Callable, Iterable, Mapping


def target_folders(targets: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the mounts and directories of targets."""
    entries = list(targets)
    return {
        name: list(dict.fromkeys(target[key] for target in entries if key in target))
        for name, key in (("mounts", "mount"), ("directories", "directory"))
    }


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"target_folders": target_folders}
