# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers and target to measure, checked against the plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: selection
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Layers and target that are to be measured
description:
  - Returns what a choice of layer and target means in a plan, or why it is refused.
  - In layer fs only whole file systems can be chosen; one target is measured in layer ost.
options:
  _input:
    description: The plan.
    type: dict
    required: true
  layer:
    description:
      - V(ost), V(raw), V(fs), V(net), V(mdt), V(oss), V(shared), V(rdma), or V(all), which leaves
        V(shared) out.
    type: str
    default: all
  target:
    description: A component of the layer; empty for all.
    type: str
    default: ""
  hosts:
    description: Hosts of the play, as C(--limit) leaves them; without it none is missing.
    type: list
    elements: str
"""

EXAMPLES = r"""
chosen: "{{ agent_plan | hpcops.plumbline.selection('ost', 'scratch-OST0003') }}"
# {'layers': ['ost'], 'target': 'scratch-OST0003', 'refused': ''}
"""

RETURN = r"""
_value:
  description: C(layers), C(target), and C(refused), the sentence for what cannot be measured.
  type: dict
"""

from typing import Any, Callable, Iterable, Iterator, Mapping, Optional

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import IF_NAMED, LAYERS

SHARED = "shared"
"""Layer of parts that several nodes read at once, one part at a time."""

WHOLE = "parallel"
"""Kind of target for an entire file system."""


def selection(
    plan: Mapping[str, Any],
    layer: str = "all",
    target: str = "",
    hosts: Optional[Iterable[str]] = None,
) -> dict[str, Any]:
    """Return layers and target, and the reason if they are refused."""
    layers = _layers(plan, target) if layer == "all" else [layer]
    refused = _refused(plan, layers, target, hosts)
    return {"layers": layers, "target": target, "refused": refused}


def _layers(plan: Mapping[str, Any], target: str) -> list[str]:
    """Return all layers but those that are off: whole file systems, and what is not named."""
    systems = [name for _, name in _components(plan, ["fs"])]
    driven = target in systems if target else bool(systems)
    planned = {entry["layer"] for node in plan["nodes"].values() for entry in node["entries"]}
    off = set(IF_NAMED) - planned | (set() if driven else {"fs"}) | {SHARED}
    return [layer for layer in LAYERS if layer not in off]


def _refused(
    plan: Mapping[str, Any], layers: list[str], target: str, hosts: Optional[Iterable[str]]
) -> str:
    if not set(layers) <= set(LAYERS):
        return f"There is no layer {layers[0]}; choose {', '.join(LAYERS)} or all."
    if "fs" in layers and "fs" not in plan:
        return (
            "No client drives all targets at once; name layers.fs.clients in plumbline_policy, "
            "deploy, and measure again."
        )
    if layers == [SHARED] and not target:
        return "Shared parts are read one at a time; name one: -e together=PART."
    components = list(_components(plan, layers))
    nodes = list(dict.fromkeys(node for node, name in components if name == target))
    if target and not nodes:
        names = ", ".join(sorted({name for _, name in components})) or "nothing"
        return f"The plan has no {target} in layer {', '.join(layers)}; it has {names}."
    # two clients on one target would halve each other's rates, and locks are local to a host
    if target and hosts is not None and not set(nodes) & set(hosts):
        return (
            f"{target} is measured by {', '.join(nodes)}, which --limit leaves out. Take it into "
            "the limit. To measure from another client all the same, while nothing else measures "
            "it: plumbline probe ost --another-client, see docs/operations.md."
        )
    return ""


def _components(plan: Mapping[str, Any], layers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield node and name of the components that can be chosen in some layers."""
    for node, document in plan["nodes"].items():
        for entry in document["entries"]:
            parallel = entry["target"].get("kind") == WHOLE
            if entry["layer"] in layers and (entry["layer"] != "fs" or parallel):
                yield node, entry["component"]


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"selection": selection}
