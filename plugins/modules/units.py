#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the timers among units as their files describe them, or remove units without a trace."""

from __future__ import annotations

DOCUMENTATION = r"""
module: units
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Start or remove units of systemd, with one reload at most
description:
  - Takes all units of a role at once. M(ansible.builtin.systemd_service) takes them one by one, and
    has systemd read all units of the host again for each.
options:
  units:
    description: Names of unit files in C(/etc/systemd/system), services and timers.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(started) enables and starts all timers among the units. It reloads systemd before if one
        of the units is older there than its file, or unknown.
      - V(absent) stops the units and all instances of templates, and removes their files, the links
        that start timers with the system, and the times when they ran last.
    type: str
    choices: [started, absent]
    default: started
  renewed:
    description: Unit files that were just written; timers among them are restarted.
    type: list
    elements: str
    default: []
  additions:
    description:
      - Names of folders with drop-ins in C(/etc/systemd/system), such as V(plumbline-fs.service.d).
      - With O(state=absent) they are removed.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Nothing is done; the result is what would be.
"""

EXAMPLES = r"""
- name: Start the timers
  hpcops.plumbline.units:
    units: [plumbline-ost.service, plumbline-ost@.service, plumbline-ost.timer]
    renewed: [plumbline-ost.timer]

- name: Remove the units
  hpcops.plumbline.units:
    units: [plumbline-ost.service, plumbline-ost@.service, plumbline-ost.timer]
    state: absent
"""

RETURN = r"""
reloaded:
  description: Whether systemd had to read its units again.
  returned: success
  type: bool
enabled:
  description: Timers that did not start with the system.
  returned: with O(state=started)
  type: list
  elements: str
started:
  description: Timers that were started, or started again.
  returned: with O(state=started)
  type: list
  elements: str
stopped:
  description: Units that systemd had loaded.
  returned: with O(state=absent)
  type: list
  elements: str
removed:
  description: Files and folders that were removed.
  returned: with O(state=absent)
  type: list
  elements: path
"""

import os
import shutil
from typing import Any, Sequence

from ansible.module_utils.basic import AnsibleModule

PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,NeedDaemonReload"
PLACES = (
    "/etc/systemd/system/{unit}",
    "/etc/systemd/system/timers.target.wants/{unit}",
    "/var/lib/systemd/timers/stamp-{unit}",
)
"""Files of a unit: its own, the link in the boot, and the time when a timer ran last."""


def systemctl(module: AnsibleModule, *words: str) -> str:
    """Return the output of a command of systemctl; fail with its error."""
    code, output, errors = module.run_command(["systemctl", *words])
    if code != 0:
        module.fail_json(msg=f"systemctl {' '.join(words)} ended with {code}: {errors.strip()}")
    answer: str = output
    return answer


def pattern(unit: str) -> str:
    """Return a pattern for a unit; one for all instances if it is a template."""
    return unit.replace("@.", "@*.")


def states(module: AnsibleModule, units: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the properties of units, and of all loaded instances of templates, by name.

    Fail if systemd leaves one out.
    """
    words = ["show", f"--property={PROPERTIES}", *map(pattern, units)]
    output = systemctl(module, *words) if units else ""
    blocks = [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        for block in output.strip().split("\n\n")
    ]
    found = {block["Id"]: block for block in blocks if "Id" in block}
    missing = [unit for unit in units if "@." not in unit and unit not in found]
    if missing:
        module.fail_json(msg=f"systemctl show gave no state of {', '.join(missing)}")
    return found


def is_stale(state: dict[str, str]) -> bool:
    """Return whether systemd has a unit otherwise than in its file, or not at all."""
    return state["NeedDaemonReload"] == "yes" or state["LoadState"] == "not-found"


def start(module: AnsibleModule, units: Sequence[str], renewed: Sequence[str]) -> dict[str, Any]:
    """Reload, enable and start what needs it, except in check mode; return what that was."""
    found = states(module, units)
    timers = {name: state for name, state in found.items() if name.endswith(".timer")}
    stale = sorted(name for name, state in found.items() if is_stale(state))
    disabled = [name for name, state in timers.items() if state["UnitFileState"] != "enabled"]
    due = [
        name
        for name, state in timers.items()
        if name in {*renewed, *stale} or state["ActiveState"] != "active"
    ]
    if not module.check_mode:
        if disabled:
            # reloads; without, later systemds call every unit of the host stale
            systemctl(module, "enable", "--quiet", *disabled)
        elif stale:
            systemctl(module, "daemon-reload")
        if due:
            systemctl(module, "restart", *due)
    return {"reloaded": bool(stale or disabled), "enabled": disabled, "started": due}


def delete(path: str) -> None:
    """Delete a file, a link, or a folder with what is in it."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def remove(module: AnsibleModule, units: Sequence[str], additions: Sequence[str]) -> dict[str, Any]:
    """Stop units and remove their files, except in check mode; return which there were."""
    listing = ["list-units", "--all", "--plain", "--no-legend", *map(pattern, units)]
    lines = systemctl(module, *listing).splitlines() if units else []
    loaded = [line.split()[0] for line in lines if line.strip()]
    paths = [place.format(unit=unit) for unit in units for place in PLACES]
    paths += [PLACES[0].format(unit=folder) for folder in additions]
    files = [path for path in paths if os.path.lexists(path)]
    if not module.check_mode:
        if loaded:
            systemctl(module, "stop", *loaded)
            # a unit that has not failed has nothing to reset, which is an error of some releases
            module.run_command(["systemctl", "reset-failed", *loaded])
        for path in files:
            delete(path)
        if files:
            systemctl(module, "daemon-reload")
    return {"reloaded": bool(files), "stopped": loaded, "removed": files}


def main() -> None:
    """Start the timers, or remove all units."""
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["started", "absent"], "default": "started"},
            "renewed": {"type": "list", "elements": "str", "default": []},
            "additions": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    units = module.params["units"]
    if module.params["state"] == "absent":
        result = remove(module, units, module.params["additions"])
    else:
        result = start(module, units, module.params["renewed"])
    module.exit_json(changed=any(result.values()), **result)


if __name__ == "__main__":
    main()
