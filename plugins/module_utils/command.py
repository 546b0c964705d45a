# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the command ``plumbline`` for a module, and map how it ended to one sentence.

The contract with the package is its command line, its JSON and its exit codes
(docs/reference.md): 0 to 3 are verdicts, on all others one line on standard error says why.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional, Sequence

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

DONE = (0,)
"""How a command ends that judges nothing."""
VERDICTS = (0, 1, 2, 3)
"""How a command ends that judges: OK, WARNING, CRITICAL, UNKNOWN."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "command": {"type": "list", "elements": "str", "default": ["plumbline"]},
    "source": {"type": "path"},
}
"""The options of what runs on the control host, as doc_fragments/command.py documents them."""


class Answer(NamedTuple):
    """What a command printed, and the code it ended with."""

    code: int
    stdout: str
    stderr: str


class Plumbline:
    """The command as a module calls it: ``ask`` for text, ``ask_json`` for a document.

    ``command`` is the start of the argument list, ``source`` a checkout whose package is used,
    ``user`` who runs it where the module runs as root.
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
        """Return the answer; end the module with the command's sentence on any other code."""
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
        """Return the code and the document that was printed; end the module where there is none."""
        answer = self.ask(*arguments, codes=codes)
        try:
            return answer.code, json.loads(answer.stdout)
        except ValueError:
            # a traceback of Python ends with 1, as WARNING does
            self._fail([*self._start, *arguments], answer, f"no JSON: {sentence(answer)}")

    def _fail(self, argv: Sequence[str], answer: Answer, msg: str) -> NoReturn:
        self._module.fail_json(
            msg=msg, cmd=list(argv), rc=answer.code, stdout=answer.stdout, stderr=answer.stderr
        )
        raise AssertionError("fail_json does not return")


def sentence(answer: Answer) -> str:
    """Return the one line that says why a command failed."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    if lines:
        return lines[-1]
    return f"plumbline ended with {answer.code} and printed no reason"
