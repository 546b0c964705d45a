# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules that run on a node have in common: the user of the probes, records, verdicts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable

from ansible_collections.hpcops.plumbline.plugins.module_utils.command import VERDICTS, Plumbline
from ansible_collections.hpcops.plumbline.plugins.module_utils.expectations import EXPECTATIONS

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

USER = "plumbline"
"""User that measures and owns the history."""

OPTIONS: dict[str, dict[str, Any]] = {
    "expectations": {"type": "path", "default": EXPECTATIONS},
}
"""The options of all of them, as doc_fragments/on_node.py documents them."""

WORST_FIRST = ("CRITICAL", "UNKNOWN", "WARNING", "OK")
"""As Nagios ranks states."""


def as_prober(module: AnsibleModule) -> Plumbline:
    """Return the command as the user of the probes runs it; root becomes that user."""
    return Plumbline(module, user=USER if os.geteuid() == 0 else None)


def verdicts_of(plumbline: Plumbline, *, last_run: bool) -> list[dict[str, Any]]:
    """Return the verdicts on all that the node measures, those of groups too.

    With ``last_run`` a component is judged by its last run alone, as while somebody looks.
    """
    words = ("judge", "--json", *(("--last-run",) if last_run else ()))
    _, said = plumbline.ask_json(*words, codes=VERDICTS)
    verdicts: list[dict[str, Any]] = said["verdicts"]
    return verdicts


def records_of(plumbline: Plumbline, layer: str, age_s: int) -> list[dict[str, Any]]:
    """Return the records of a layer of the last seconds."""
    said = plumbline.ask("history", "--json", "--layer", layer, "--since", f"{age_s}s").stdout
    return [json.loads(line) for line in said.splitlines() if line.strip()]


def worst(verdicts: Iterable[dict[str, Any]]) -> str:
    """Return the worst state; nothing judged is UNKNOWN, never OK."""
    states = {verdict["state"] for verdict in verdicts}
    return next((one for one in WORST_FIRST if one in states), "UNKNOWN")
