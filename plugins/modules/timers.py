#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start timers as their files describe them, with one reload of systemd at most."""

from __future__ import annotations

DOCUMENTATION = r"""
module: timers
author: The plumbline developers (@hpcops)
version_added: 0.1.0
short_description: Enable and start timers of systemd
description:
  - Reloads systemd if one of the units is older there than its file, or unknown.
  - Enables and starts all timers among the units. M(ansible.builtin.systemd_service) takes them one
    by one, and has systemd read all units of the host again for each.
options:
  units:
    description: Unit files of a role, services and timers.
    type: list
    elements: str
    required: true
  renewed:
    description: Unit files that were just written; timers among them are restarted.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Only RV(ignore:changed) shows what would be done.
"""

EXAMPLES = r"""
- name: Start the timers
  hpcops.plumbline.timers:
    units: [plumbline-ost.service, plumbline-ost@.service, plumbline-ost.timer]
    renewed: [plumbline-ost.timer]
"""

RETURN = r"""
reloaded:
  description: Whether systemd had to read its units again.
  returned: success
  type: bool
enabled:
  description: Timers that did not start with the system.
  returned: success
  type: list
  elements: str
started:
  description: Timers that were started, or started again.
  returned: success
  type: list
  elements: str
"""

from typing import Any, Sequence

from ansible.module_utils.basic import AnsibleModule

PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,NeedDaemonReload"


def systemctl(module: AnsibleModule, *words: str) -> str:
    """Return the output of a command of systemctl; fail with its error."""
    code, output, errors = module.run_command(["systemctl", *words])
    if code != 0:
        module.fail_json(msg=f"systemctl {' '.join(words)} ended with {code}: {errors.strip()}")
    answer: str = output
    return answer


def states(module: AnsibleModule, units: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the properties of units, and of all loaded instances of templates, by name.

    Fail if systemd leaves one out.
    """
    patterns = [unit.replace("@.", "@*.") for unit in units]
    output = systemctl(module, "show", f"--property={PROPERTIES}", *patterns) if units else ""
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


def bring(module: AnsibleModule, units: Sequence[str], renewed: Sequence[str]) -> dict[str, Any]:
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
        if stale:
            systemctl(module, "daemon-reload")
        if disabled:
            systemctl(module, "enable", "--quiet", "--no-reload", *disabled)
        if due:
            systemctl(module, "restart", *due)
    return {"reloaded": bool(stale), "enabled": disabled, "started": due}


def main() -> None:
    """Bring all timers up."""
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "required": True},
            "renewed": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    result = bring(module, module.params["units"], module.params["renewed"])
    module.exit_json(changed=any(result.values()), **result)


if __name__ == "__main__":
    main()
