# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups and variables of hosts, read from a plan."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import LAYERS

NODES = "plumbline_nodes"
ASKED = "plumbline_asked"
SYMPTOMS = "plumbline_symptoms"
SPACE = "plumbline_space"
CLIENTS = "plumbline_fs_clients"
LAYER_GROUPS = tuple(f"plumbline_{layer}" for layer in LAYERS)
"""Groups of layers; even empty ones exist, as Ansible warns about unknown groups."""


def groups_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the hosts of each group; hosts of a layer are all in ``plumbline_nodes``."""
    groups: dict[str, list[str]] = {NODES: list(plan["nodes"])}
    groups.update({name: [] for name in LAYER_GROUPS})
    for node, document in plan["nodes"].items():
        for layer in components_of(document):
            groups[f"plumbline_{layer}"].append(node)
    groups[CLIENTS] = list(plan.get("fs", {}).get("clients", []))
    groups[ASKED] = list(dict.fromkeys(service["node"] for service in plan["services"]))
    for name, layer in ((SYMPTOMS, "symptoms"), (SPACE, "space")):
        services = [entry for entry in plan["services"] if entry.get("layer") == layer]
        groups[name] = list(dict.fromkeys(service["node"] for service in services))
    return groups


def hosts_of(plan: Mapping[str, Any], kind: str) -> list[str]:
    """Return the hosts of a kind, such as ``server``, in the order of the topology."""
    return [host["name"] for host in plan["hosts"] if host["kind"] == kind]


def variables_of(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the variables of each host of a plan."""
    variables: dict[str, dict[str, Any]] = {
        node: {
            "plumbline_layers": list(components_of(document)),
            "plumbline_components": components_of(document),
        }
        for node, document in plan["nodes"].items()
    }
    for host in plan["hosts"]:
        host_variables = variables.setdefault(host["name"], {})
        host_variables["plumbline_kind"] = host["kind"]
        host_variables["plumbline_address"] = host["address"]
    return variables


def components_of(node: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the components that a node measures, by layer."""
    components: dict[str, list[str]] = {}
    for entry in node["entries"]:
        components.setdefault(entry["layer"], []).append(entry["component"])
    # the node of the first flow alone has the expectation of a shared part
    own = components.setdefault("shared", [])
    own += [reads["component"] for reads in node.get("shared", ()) if reads["component"] not in own]
    return {layer: names for layer, names in components.items() if names}
