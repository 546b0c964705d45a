"""Calls of plumbline in forks of one process, which has imported it once."""

from __future__ import annotations

import json
import os
import select
import subprocess
from types import TracebackType
from typing import Mapping, Optional, Sequence

# Arguments are folders of modules, then modules to import.  Each line of input is a call: words,
# variables that are added to the environment, and a folder, or an empty text for that of this
# process.
PROGRAM = """
import importlib, json, os, sys, tempfile
sys.path[:0] = [word for word in sys.argv[1:] if "/" in word]
import plumbline.cli as cli
for name in [word for word in sys.argv[1:] if "/" not in word]:
    importlib.import_module(name)

def content(file):
    file.seek(0)
    return file.read().decode()

for line in sys.stdin:
    words, variables, folder = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            for number, file in (0, open(os.devnull)), (1, out), (2, err):
                os.dup2(file.fileno(), number)
            os.environ.update(variables)
            tempfile.tempdir = None
            if folder:
                os.chdir(folder)
            sys.exit(cli.main(words))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, content(out), content(err)]), flush=True)
"""


WAIT_S = 300.0
VERBS = (
    *("plumbline.cli.inventory", "plumbline.cli.measuring", "plumbline.cli.probe"),
    *("plumbline.cli.records", "plumbline.cli.topology", "plumbline.cli.verdicts"),
    *("plumbline.parts.facts.verbs.symptoms", "plumbline.parts.locate.verbs"),
    *("plumbline.parts.parallel.verbs", "plumbline.parts.report.verbs"),
    *("plumbline.parts.facts.contract", "plumbline.parts.space.verbs"),
    *("plumbline.site.inventory", "yaml"),
)
"""Modules of the verbs that are called most, and what they import."""


class Forks:
    """A process whose forks answer calls, until it is closed."""

    def __init__(self, *command: str, environment: Mapping[str, str] = {}) -> None:
        """Start the process; ``command`` ends with a Python and its options."""
        self._process = subprocess.Popen(
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def call(
        self, words: Sequence[str], variables: Mapping[str, str] = {}, folder: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Return exit code and texts of ``plumbline WORDS``."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([words, variables, folder]), file=self._process.stdin, flush=True)
        if not select.select([self._process.stdout], [], [], WAIT_S)[0]:
            self._process.kill()
            raise AssertionError(f"plumbline {' '.join(words)} does not end")
        line = self._process.stdout.readline()
        assert line, f"{self._process.args!r} has ended with {self._process.wait()}"
        return subprocess.CompletedProcess([*words], *json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
