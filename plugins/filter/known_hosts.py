# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys of nodes, as lines of known_hosts(5)."""

from __future__ import annotations

DOCUMENTATION = r"""
name: known_hosts
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Host keys of nodes as lines for ssh
description:
  - Returns the lines of a file known_hosts, one for each node whose key is known.
  - The key comes from the facts that Ansible gathered over its own connection, the best of ed25519,
    ecdsa and RSA. A node without facts keeps the line of the earlier file.
options:
  _input:
    description: Names of nodes.
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts, with their facts.
    type: dict
    required: true
  earlier:
    description: Text of the file as it was. Lines of hosts that are no nodes are dropped.
    type: str
    default: ""
"""

EXAMPLES = r"""
lines: "{{ agent_plan.nodes | hpcops.plumbline.known_hosts(hostvars, earlier) }}"
# ['oss1 ssh-ed25519 AAAAC3Nza...', 'client1 ssh-ed25519 AAAAC3Nza...']
"""

RETURN = r"""
_value:
  description: Lines, in the order of the nodes.
  type: list
  elements: str
"""

from typing import Any, Callable, Iterable, Mapping, Optional

KINDS = ("ed25519", "ecdsa", "rsa")


def known_hosts(
    nodes: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], earlier: str = ""
) -> list[str]:
    """Return a line for each node whose key is known."""
    # name, type and key; any other line is not from this filter
    lines = {
        words[0]: " ".join(words)
        for words in map(str.split, earlier.splitlines())
        if len(words) == 3
    }
    for node in nodes:
        key = _key(hostvars[node].get("ansible_facts", {})) if node in hostvars else None
        if key:
            lines[node] = f"{node} {key}"
    return [lines[node] for node in nodes if node in lines]


def _key(facts: Mapping[str, Any]) -> Optional[str]:
    for kind in KINDS:
        fact = f"ssh_host_key_{kind}_public"
        if fact in facts:
            return f"{facts[f'{fact}_keytype']} {facts[fact]}"
    return None


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"known_hosts": known_hosts}
