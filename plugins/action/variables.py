# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the variables of a playbook; plugins/modules/variables.py documents the options."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Iterable, Optional

from ansible.errors import AnsibleActionFail
from ansible.plugins.action.validate_argument_spec import ActionModule as Validation
from ansible.utils.vars import load_extra_vars

# least similarity of a misspelt name: layers and layer, targt and target
SIMILARITY = 0.8


class ActionModule(Validation):  # type: ignore[misc]
    """Action plug-in: runs on the control host, once for all hosts of the play."""

    def run(
        self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None
    ) -> dict[str, Any]:
        """Validate as Ansible does; first raise AnsibleActionFail for misspelt names."""
        refuse_slips(load_extra_vars(self._loader), self._task.args.get("argument_spec", ()))
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result


def refuse_slips(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise AnsibleActionFail for a name that is similar to a known variable.

    Other names are accepted: they may be for a role, a connection or the site.
    """
    names = sorted(known)
    for name in sorted(set(given).difference(names)):
        similar = get_close_matches(name, names, n=1, cutoff=SIMILARITY)
        if similar:
            raise AnsibleActionFail(
                f"-e {name}=... is not a variable of this playbook; write -e {similar[0]}=..."
            )
