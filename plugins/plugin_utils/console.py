# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plug-ins that run on the control host, and the command ``plumbline`` there."""

from __future__ import annotations

import os
import subprocess
from abc import abstractmethod
from typing import Any, Mapping, Optional, Sequence

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import Answer, sentence


class OnControlHost(ActionBase):  # type: ignore[misc]
    """Action plug-in that runs once for all hosts of the play; ``options`` are its options."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    options: Mapping[str, Any] = {}

    def run(
        self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None
    ) -> dict[str, Any]:
        """Return the result; raise AnsibleActionFail for wrong options, and as ``result`` does."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(argument_spec=self.options)
        return {**result, **self.result(options, task_vars or {})}

    @abstractmethod
    def result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Do the work with the options of the task and the variables of the play."""


class Plumbline:
    """The command on the control host."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._start = options["command"]
        source = options["source"]
        self._environment = {**os.environ, **({"PYTHONPATH": f"{source}/src"} if source else {})}

    def ask(self, arguments: Sequence[str]) -> str:
        """Return the output of the command, or raise AnsibleActionFail with its sentence."""
        argv = [*self._start, *arguments]
        try:
            done = subprocess.run(
                argv, env=self._environment, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise AnsibleActionFail(f"{argv[0]} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            raise AnsibleActionFail(sentence(Answer(done.returncode, done.stdout, done.stderr)))
        return done.stdout
