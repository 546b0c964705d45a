# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a shared part on all its nodes; plugins/modules/together.py documents the options."""

from __future__ import annotations

import time
from typing import Any, Mapping

from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.console import OnControlHost
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Nodes
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.together import (
    Impossible,
    Together,
)

OPTIONS = {
    "plan": {"type": "dict", "required": True},
    "part": {"type": "str", "required": True},
}


class ActionModule(OnControlHost):  # type: ignore[misc]
    """Action plug-in: runs on the control host, once for all hosts of the play."""

    options = OPTIONS

    def result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sum of the flows; raise AnsibleActionFail if there is none."""
        plan, part = options["plan"], options["part"]
        # all nodes wait for one moment, so each needs a fork of its own
        forks = len(plan["nodes"])
        nodes = Nodes(self, variables["hostvars"], forks)
        crew = Crew.of_play(plan, variables, nodes)
        try:
            together = Together(plan, part, crew, time.time)
            if self._task.check_mode:
                return {"changed": True, "nodes": together.nodes}
            found = together.run()
        except Impossible as error:
            raise AnsibleActionFail(str(error)) from error
        return {"changed": True, "nodes": together.nodes, **found, "lost": crew.lost}
