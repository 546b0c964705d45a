# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of modules that run on a node: user of the probes, records, verdicts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable

from ansible_collections.hpcops.plumbline.plugins.module_utils.command import VERDICTS, Plumbline
from ansible_collections.hpcops.plumbline.plugins.module_utils.expectations import EXPECTATIONS

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

USER = "plumbline"
"""User who measures and owns the history."""

OPTIONS: dict[str, dict[str, Any]] = {
    "expectations": {"type": "path", "default": EXPECTATIONS},
}
"""Common options, documented in doc_fragments/on_node.py."""

WORST_FIRST = ("CRITICAL", "UNKNOWN", "WARNING", "OK")
"""States in Nagios's order."""


def as_prober(module: AnsibleModule) -> Plumbline:
    """Return the command, run as the user of the probes; root becomes that user."""
    return Plumbline(module, user=USER if os.geteuid() == 0 else None)


def verdicts_of(plumbline: Plumbline, *, last_run: bool) -> list[dict[str, Any]]:
    """Return the verdicts on all components and groups that the node measures.

    With ``last_run`` components are judged only by their last runs, for a person at work.
    """
    words = ("judge", "--json", *(("--last-run",) if last_run else ()))
    _, document = plumbline.ask_json(*words, codes=VERDICTS)
    verdicts: list[dict[str, Any]] = document["verdicts"]
    return verdicts


def records_of(plumbline: Plumbline, layer: str, age_s: int) -> list[dict[str, Any]]:
    """Return the records of a layer from the last ``age_s`` seconds."""
    output = plumbline.ask("history", "--json", "--layer", layer, "--since", f"{age_s}s").stdout
    return [json.loads(line) for line in output.splitlines() if line.strip()]


def worst(verdicts: Iterable[dict[str, Any]]) -> str:
    """Return the worst state; UNKNOWN, never OK, without verdicts."""
    states = {verdict["state"] for verdict in verdicts}
    return next((state for state in WORST_FIRST if state in states), "UNKNOWN")
