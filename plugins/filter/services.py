# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of plumbline in Nagios."""

from __future__ import annotations

DOCUMENTATION = r"""
name: services
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Services of a plan with the hosts they belong to
description:
  - Returns every active service that Nagios has of a plan, as host and description.
  - These are the services of the measurements, those of the paths where they are given, and one of
    the agent for each node that is asked.
options:
  _input:
    description: The plan.
    type: dict
    required: true
  agent:
    description: Description of the service of the agent.
    type: str
    required: true
  paths:
    description: Services of check_path.
    type: list
    elements: dict
    default: []
  collection:
    description:
      - Description of the service on whether the console still collects.
      - It hangs on the host of the first path; without paths there is none.
    type: str
    default: ''
"""

EXAMPLES = r"""
services: "{{ agent_plan | hpcops.plumbline.services('plumbline agent', agent_plan.paths) }}"
# [['client1', 'plumbline agent'], ['oss2', 'OST scratch-OST0003 write read']]
"""

RETURN = r"""
_value:
  description: Pairs of host and description.
  type: list
  elements: list
"""

from typing import Any, Callable, Mapping, Sequence


def services(
    plan: Mapping[str, Any],
    agent: str,
    paths: Sequence[Mapping[str, Any]] = (),
    collection: str = "",
) -> list[list[str]]:
    """Return host and description of each service."""
    nodes = sorted({service["node"] for service in plan["services"]})
    checked = [*plan["services"], *paths]
    return [
        *([node, agent] for node in nodes),
        *([path["host"], collection] for path in paths[:1] if collection),
        *([service["host"], service["description"]] for service in checked),
    ]


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"services": services}
