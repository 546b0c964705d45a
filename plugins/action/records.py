# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring records of nodes to the control host; plugins/modules/records.py documents the options."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.hpcops.plumbline.plugins.plugin_utils import answers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.console import OnControlHost
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import NoAnswer, Node, Nodes

OPTIONS = {
    "dest": {"type": "path", "required": True},
    "age_s": {"type": "float", "required": True},
}


class ActionModule(OnControlHost):  # type: ignore[misc]
    """Action plug-in: runs on the control host, once for all hosts of the play."""

    options = OPTIONS

    def result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the files; raise AnsibleActionFail if a host gives no records."""
        folder, age_s = Path(options["dest"]), options["age_s"]

        def work(node: Node) -> tuple[str, int]:
            path = folder / f"{node.name}.jsonl"
            return str(path), bring(node, path, age_s)

        nodes = Nodes(self, variables["hostvars"], int(variables["ansible_forks"]))
        results = nodes.each(variables["ansible_play_hosts"], work)
        for name, answer in results.items():
            if isinstance(answer, NoAnswer):
                raise AnsibleActionFail(f"{name} does not answer: {answer}")
            if answer[1]:
                Display().warning(answers.left_out(name, answer[1]))
        return {"changed": False, "files": [path for path, _ in results.values()]}


def bring(node: Node, path: Path, age_s: float) -> int:
    """Write the records of the last ``age_s`` seconds to a file; return the number of damaged ones.

    Raises:
        NoAnswer: the node does not answer, or its plumbline gives no records.
    """
    since = max(0.0, answers.head(node)["now"] - age_s)
    damaged: int = answers.bring(node, path, since)
    return damaged
