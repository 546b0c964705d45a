# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of hosts, from their variables in the inventory."""

from __future__ import annotations

DOCUMENTATION = r"""
name: addresses
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Addresses of hosts, as Ansible reaches them
description:
  - Returns a dictionary of host names and addresses, in the order of the hosts.
  - The address is the first of some variables that the host has in the inventory.
  - A host that has none of them, or is not in the inventory, keeps the address of the plan, or its
    name.
options:
  _input:
    description: Names of hosts, or hosts of the plan with C(name) and C(address).
    type: list
    elements: raw
    required: true
  hostvars:
    description: The variables of all hosts.
    type: dict
    required: true
  variables:
    description: Names of variables; the first that a host has is taken.
    type: list
    elements: str
    default: [ansible_host]
"""

EXAMPLES = r"""
nodes: "{{ agent_plan.hosts | hpcops.plumbline.addresses(hostvars, ['nrpe_address']) }}"
# {'oss1': '10.77.0.11', 'client1': '10.77.0.21'}

monitoring: "{{ (groups['monitoring'] | hpcops.plumbline.addresses(hostvars)).values() | list }}"
# ['10.77.0.10']
"""

RETURN = r"""
_value:
  description: Addresses by host.
  type: dict
"""

from typing import Any, Callable, Iterable, Mapping, Sequence


def addresses(
    hosts: Iterable[Any],
    hostvars: Mapping[str, Mapping[str, Any]],
    variables: Sequence[str] = ("ansible_host",),
) -> dict[str, Any]:
    """Return the address of each host."""
    result = {}
    for host in hosts:
        planned = isinstance(host, Mapping)
        name, address = (host["name"], host["address"]) if planned else (host, host)
        # Ansible's hostvars raise no KeyError
        values = hostvars[name] if name in hostvars else {}  # noqa: SIM401
        result[name] = next((values[key] for key in variables if key in values), address)
    return result


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"addresses": addresses}
