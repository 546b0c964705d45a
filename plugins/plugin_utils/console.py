# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command ``plumbline`` on the control host, for action plug-ins."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Sequence

from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import Answer, sentence


class Plumbline:
    """The command on the control host."""

    def __init__(self, options: dict[str, Any]) -> None:
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
