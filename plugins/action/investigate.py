# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the slow component now; plugins/modules/investigate.py documents the options."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Mapping

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.console import (
    OnControlHost,
    Plumbline,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew, NobodyAnswers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.investigation import (
    Console,
    Investigation,
    Question,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Nodes
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.whereabouts import NotFound

OPTIONS = {
    "plan": {"type": "dict", "required": True},
    "targets": {"type": "list", "elements": "str", "default": []},
    "user_path": {"type": "str"},
    "budget": {"type": "str", "default": "5m"},
    "budget_bytes": {"type": "str", "default": "1000TB"},
    **ARGUMENTS,
}


class ActionModule(OnControlHost):  # type: ignore[misc]
    """Action plug-in: runs on the control host, once for all hosts of the play."""

    options = OPTIONS

    def result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the findings; raise AnsibleActionFail if there is no answer."""
        forks = int(variables["ansible_forks"])
        nodes = Nodes(self, variables["hostvars"], forks)
        crew = Crew.of_play(options["plan"], variables, nodes)
        question = Question(
            tuple(name.strip() for name in options["targets"] if name.strip()),
            options["user_path"],
            options["budget"],
            options["budget_bytes"],
            forks,
        )
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            verbose = bool(Display().verbosity)
            console = Console(Plumbline(options).ask, Path(folder), verbose=verbose)
            try:
                findings = Investigation(options["plan"], question, crew, console).run(
                    dry=bool(self._task.check_mode)
                )
            except (NobodyAnswers, NotFound) as error:
                raise AnsibleActionFail(str(error)) from error
        return {"changed": bool(findings["steps"]), "found": findings, "lost": crew.lost}
