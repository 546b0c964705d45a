#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture, compare and accept the baselines of an inventory."""

from __future__ import annotations

DOCUMENTATION = r"""
module: baseline
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Capture, compare and accept baselines
description:
  - Makes candidates from records, compares them with the accepted baselines of an inventory, and
    makes them the reference.
  - Run it once on the control host, with C(delegate_to) and C(run_once).
extends_documentation_fragment:
  - hpcops.plumbline.command
options:
  inventory:
    description: Folder of the inventory.
    type: path
    required: true
  state:
    description:
      - V(captured) makes candidates of O(records).
      - V(compared) sets the candidates beside the baselines.
      - V(accepted) does so too, and makes the candidates the reference.
      - Both capture first where O(records) are given.
    type: str
    choices: [captured, compared, accepted]
    required: true
  records:
    description: Files with a record as JSON in each line.
    type: list
    elements: path
    default: []
  last:
    description: How many of the newest runs of each component count.
    type: int
    default: 12
  reason:
    description: Why this is the reference from now on; kept with each baseline.
    type: str
  accepted_by:
    description: Who accepts; without it the login name on the control host.
    type: str
  components:
    description: Accept these alone, outliers too; without any, all that are no outliers.
    type: list
    elements: str
    default: []
  below_floor:
    description: Whether rates below C(min_efficiency) or C(goal) of the policy are accepted too.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Neither candidates nor baselines are written; the result is what it would be.
  diff_mode:
    support: full
    description: Shows the file with the accepted baselines before and after.
seealso:
  - module: hpcops.plumbline.records
"""

EXAMPLES = r"""
- name: Look at what the last runs would change
  hpcops.plumbline.baseline:
    inventory: "{{ inventory_dir }}"
    state: compared
    records: [/tmp/records/oss1.jsonl, /tmp/records/oss2.jsonl]
  delegate_to: localhost
  run_once: true
  register: compared

- name: Accept it
  hpcops.plumbline.baseline:
    inventory: "{{ inventory_dir }}"
    state: accepted
    reason: new disks in oss3
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
changed:
  description:
    - Whether the file with the accepted baselines changes, in O(state=accepted).
    - Whether the candidates change, in other states.
  returned: success
  type: bool
file:
  description: The file with the accepted baselines, to be reviewed and committed.
  returned: in O(state=accepted)
  type: str
sentences:
  description: What a person should know of it, as lines.
  returned: success
  type: list
  elements: str
  sample: [6 baselines accepted in inventories/lab/group_vars/all/baselines.yml]
comparison:
  description: Old and new of each candidate as the lines of a table.
  returned: in O(state=compared) and O(state=accepted)
  type: list
  elements: str
accepted:
  description: Old and new of each baseline that is accepted.
  returned: in O(state=accepted)
  type: list
  elements: dict
"""

from pathlib import Path
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS, Plumbline

OPTIONS: dict[str, Any] = {
    **ARGUMENTS,
    "inventory": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["captured", "compared", "accepted"], "required": True},
    "records": {"type": "list", "elements": "path", "default": []},
    "last": {"type": "int", "default": 12},
    "reason": {"type": "str"},
    "accepted_by": {"type": "str"},
    "components": {"type": "list", "elements": "str", "default": []},
    "below_floor": {"type": "bool", "default": False},
}


def main() -> None:
    """Achieve the state, or fail with the sentence of the command."""
    module = AnsibleModule(
        argument_spec=OPTIONS,
        required_if=[("state", "accepted", ["reason"]), ("state", "captured", ["records"])],
        supports_check_mode=True,
    )
    state = module.params["state"]
    plumbline = Plumbline(module, module.params["command"], module.params["source"])
    work = _Baselines(module, plumbline)
    changed, sentences = work.capture() if module.params["records"] else (False, [])
    if state == "captured":
        module.exit_json(changed=changed, sentences=sentences)
    comparison = work.compare()
    if state == "compared":
        module.exit_json(changed=changed, sentences=sentences, comparison=comparison)
    accepted = work.accept()
    module.exit_json(
        changed=accepted["changed"],
        file=accepted["file"],
        accepted=accepted["accepted"],
        sentences=[*sentences, *accepted["sentences"]],
        comparison=comparison,
        diff=_diff(accepted),
    )


class _Baselines:
    """Steps on the candidates of the inventory or, in check mode, on temporary ones."""

    def __init__(self, module: AnsibleModule, plumbline: Plumbline) -> None:
        self._module = module
        self._plumbline = plumbline
        self._inventory = ["-i", module.params["inventory"]]
        self._candidates: Optional[Path] = None

    def capture(self) -> tuple[bool, list[str]]:
        """Capture; return True if the candidates change, and the lines of the command."""
        candidates = Path(self._module.params["inventory"], ".plumbline-candidates.yml")
        if self._module.check_mode:
            self._candidates = Path(self._module.tmpdir, "candidates.yml")
        before = _text(candidates)
        captured = self._plumbline.ask(
            *("baseline", "capture", *self._inventory),
            *("--last", str(self._module.params["last"])),
            *(["--output", str(self._candidates)] if self._candidates else []),
            *("--records", *self._module.params["records"]),
        )
        return _text(self._candidates or candidates) != before, captured.stdout.splitlines()

    def compare(self) -> list[str]:
        """Return old and new values as lines."""
        compared = self._plumbline.ask("baseline", "diff", *self._inventory, *self._chosen())
        return list(compared.stdout.splitlines())

    def accept(self) -> dict[str, Any]:
        """Accept; return the accepted baselines, in check mode those to accept."""
        params = self._module.params
        _, answer = self._plumbline.ask_json(
            *("baseline", "accept", *self._inventory, *self._chosen(), "--json"),
            *("--reason", params["reason"]),
            *(["--by", params["accepted_by"]] if params["accepted_by"] else []),
            *(["--component", *params["components"]] if params["components"] else []),
            *(["--below-floor"] if params["below_floor"] else []),
            *(["--dry-run"] if self._module.check_mode else []),
        )
        document: dict[str, Any] = answer
        return document

    def _chosen(self) -> list[str]:
        return ["--candidates", str(self._candidates)] if self._candidates else []


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _diff(accepted: dict[str, Any]) -> dict[str, str]:
    """Return both texts of the file for Ansible's diff."""
    return {
        "before": accepted.get("before", ""),
        "after": accepted.get("after", ""),
        "before_header": accepted["file"],
        "after_header": accepted["file"],
    }


if __name__ == "__main__":
    main()
