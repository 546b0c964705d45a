# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts of all nodes as one table, with the result in one sentence."""

from __future__ import annotations

DOCUMENTATION = r"""
name: verdict_summary
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Verdicts of all nodes as one table
description:
  - Returns a line for each verdict, by layer and component, and which of them are not OK.
  - A node without verdicts is neither good nor bad; what it measures is UNKNOWN.
  - A group of which nothing is known but that its members are OK lacks a firm baseline and nothing
    else; it is named and excluded.
options:
  _input:
    description: Verdicts by node, as M(hpcops.plumbline.verdicts_info) returns them.
    type: dict
    required: true
  plan:
    description: The plan.
    type: dict
    required: true
  hosts:
    description: Hosts of the play, those without an answer too.
    type: list
    elements: str
    required: true
  layers:
    description: Layers that were asked for.
    type: list
    elements: str
    required: true
  target:
    description: The component that was asked for; empty for all.
    type: str
    default: ""
"""

EXAMPLES = r"""
summary: "{{ verdicts | hpcops.plumbline.verdict_summary(plan, ansible_play_hosts_all, ['raw']) }}"
# {'lines': ['CRITICAL  oss2-disk1: read 40.0 MB/s, ...'], 'bad': ['CRITICAL oss2-disk1'],
#  'sentence': 'Not OK: CRITICAL oss2-disk1'}
"""

RETURN = r"""
_value:
  description: C(lines) of the table, C(bad) with state and name, and C(sentence) for the end.
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence


def verdict_summary(
    verdicts: Mapping[str, Sequence[Mapping[str, Any]]],
    plan: Mapping[str, Any],
    hosts: Sequence[str],
    layers: Sequence[str],
    target: str = "",
) -> dict[str, Any]:
    """Return the table, the names that are not OK, and a sentence."""
    ordered = [verdict for entries in verdicts.values() for verdict in entries]
    ordered.sort(key=lambda verdict: (verdict["layer"], verdict["component"]))
    silent = _silent([name for name in hosts if name not in verdicts], plan, layers, target)
    excused = [verdict for verdict in ordered if _lacks_only_a_baseline(verdict)]
    bad = [verdict for verdict in ordered if verdict["state"] != "OK" and verdict not in excused]
    not_ok = [f"{verdict['state']} {verdict['component']}" for verdict in bad]
    not_ok = list(dict.fromkeys([*not_ok, *(f"UNKNOWN {node}" for node in silent)]))
    lines = [f"{verdict['state']:<8}  {verdict['sentence']}" for verdict in ordered]
    lines += [
        f"UNKNOWN   {node} does not answer, or failed above: nothing is known of {', '.join(names)}"
        for node, names in silent.items()
    ]
    weak = [f"{verdict['component']} without a firm baseline" for verdict in excused]
    counted = f"All {len(ordered)} verdicts are" if len(ordered) > 1 else "The only verdict is"
    all_ok = ", ".join([f"{counted} OK", *weak])
    return {
        "lines": lines,
        "bad": not_ok,
        "sentence": f"Not OK: {', '.join(not_ok)}" if not_ok else all_ok,
    }


def _silent(
    nodes: Sequence[str], plan: Mapping[str, Any], layers: Sequence[str], target: str
) -> dict[str, list[str]]:
    """Return the components that each node without verdicts should have judged."""
    components = {
        name: [
            f"{entry['layer']} {entry['component']}"
            for entry in plan["nodes"].get(name, {"entries": ()})["entries"]
            if entry["layer"] in layers and target in ("", entry["component"])
        ]
        for name in nodes
    }
    return {name: names for name, names in components.items() if names}


def _lacks_only_a_baseline(verdict: Mapping[str, Any]) -> bool:
    return bool(verdict["group"] and verdict["state"] == "UNKNOWN" and not verdict["counts"])


class FilterModule:
    """Filters of this file, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"verdict_summary": verdict_summary}
