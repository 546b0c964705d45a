# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the pairs of hosts through one part; plugins/modules/through.py documents the options."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Mapping

from ansible_collections.hpcops.plumbline.plugins.module_utils.command import ARGUMENTS
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.console import (
    OnControlHost,
    Plumbline,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Nodes
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.through import (
    Desk,
    Question,
    Through,
)

OPTIONS = {
    "plan": {"type": "dict", "required": True},
    "part": {"type": "str", "required": True},
    "balanced": {"type": "bool", "default": False},
    **ARGUMENTS,
}


class ActionModule(OnControlHost):  # type: ignore[misc]
    """Action plug-in: runs on the control host, once for all hosts of the play."""

    options = OPTIONS

    def result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sums of the slots; raise AnsibleActionFail if no pair crosses the part."""
        plan = options["plan"]
        # all pairs of a slot begin at once, so each node needs a fork of its own
        nodes = Nodes(self, variables["hostvars"], len(plan["nodes"]))
        crew = Crew.of_play(plan, variables, nodes)
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            desk = Desk(Plumbline(options).ask, Path(folder))
            question = Question(options["part"], options["balanced"])
            through = Through(plan, question, crew, desk)
            if self._task.check_mode:
                return {"changed": True, "slots": through.slots}
            found = through.run()
        sums = {key: found[key] for key in ("sums", "lines")}
        return {"changed": True, "slots": through.slots, **sums, "lost": crew.lost}
