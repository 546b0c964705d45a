# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the command ``plumbline`` for a module, and report a failure in one sentence.

The interface of the package is its command line, its JSON and its exit codes (docs/reference.md):
0 to 3 are verdicts; for all others one line on standard error has the reason.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional, Sequence

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

DONE = (0,)
"""Exit code of a command without verdicts."""
VERDICTS = (0, 1, 2, 3)
"""Exit codes of a command with verdicts: OK, WARNING, CRITICAL, UNKNOWN."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "command": {"type": "list", "elements": "str", "default": ["plumbline"]},
    "source": {"type": "path"},
}
"""Options of plug-ins on the control host, documented in doc_fragments/command.py."""


class Answer(NamedTuple):
    """Exit code and output of a command."""

    code: int
    stdout: str
    stderr: str


class Plumbline:
    """The command for a module: ``ask`` returns text, ``ask_json`` a document.

    ``command`` is the start of the argument list, ``source`` a checkout with the package to use,
    ``user`` the user to run it as if the module runs as root.
    """

    def __init__(
        self,
        module: AnsibleModule,
        command: Sequence[str] = ("plumbline",),
        source: Optional[str] = None,
        user: Optional[str] = None,
    ) -> None:
        self._module = module
        self._start = [*(["runuser", "-u", user, "--"] if user else []), *command]
        self._environment = {"PYTHONPATH": f"{source}/src"} if source else {}

    def ask(self, *arguments: str, codes: Sequence[int] = DONE) -> Answer:
        """Return the answer; on any other exit code end the module with the command's sentence."""
        argv = [*self._start, *arguments]
        try:
            answer = Answer(
                *self._module.run_command(
                    argv, environ_update=self._environment, handle_exceptions=False
                )
            )
        except OSError as error:
            self._module.fail_json(
                msg=f"{argv[0]} cannot be run: {error.strerror}; deploy plumbline with site.yml",
                cmd=argv,
            )
        if answer.code not in codes:
            self._fail(argv, answer, sentence(answer))
        return answer

    def ask_json(self, *arguments: str, codes: Sequence[int] = DONE) -> tuple[int, Any]:
        """Return exit code and printed document; end the module if there is no document."""
        answer = self.ask(*arguments, codes=codes)
        try:
            return answer.code, json.loads(answer.stdout)
        except ValueError:
            # a Python traceback also has exit code 1, like WARNING
            self._fail([*self._start, *arguments], answer, f"no JSON: {sentence(answer)}")

    def _fail(self, argv: Sequence[str], answer: Answer, msg: str) -> NoReturn:
        self._module.fail_json(
            msg=msg, cmd=list(argv), rc=answer.code, stdout=answer.stdout, stderr=answer.stderr
        )
        raise AssertionError("fail_json does not return")


def sentence(answer: Answer) -> str:
    """Return the line with the reason of a failed command."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    if lines:
        return lines[-1]
    return f"plumbline ended with {answer.code} and printed no reason"
