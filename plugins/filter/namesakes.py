# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that cannot be distinguished in a log."""

from __future__ import annotations

DOCUMENTATION = r"""
name: namesakes
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Hosts with the same name in front of their domains
description:
  - Returns the hosts whose first word, up to the dot, is also that of another host.
  - Logs call a host by this word.
options:
  _input:
    description: Names of hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
alike: "{{ ['oss1.a.org', 'oss1.b.org', 'oss2'] | hpcops.plumbline.namesakes }}"
# ['oss1.a.org', 'oss1.b.org']
"""

RETURN = r"""
_value:
  description: Hosts, those of one name side by side.
  type: list
  elements: str
"""

from typing import Any, Callable, Iterable


def namesakes(hosts: Iterable[str]) -> list[str]:
    """Return the hosts whose name up to the first dot is also another host's."""
    by_word: dict[str, list[str]] = {}
    for host in dict.fromkeys(hosts):
        by_word.setdefault(host.split(".")[0], []).append(host)
    return [host for same_word in by_word.values() if len(same_word) > 1 for host in same_word]


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"namesakes": namesakes}
