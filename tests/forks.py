"""Calls of plumbline in forks of one process, which has imported it once."""

from __future__ import annotations

import json
import os
import subprocess
from types import TracebackType
from typing import Mapping, Optional, Sequence

# Arguments are folders of modules, then modules to import; each line of input is a call.
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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            for number, file in (0, open(os.devnull)), (1, out), (2, err):
                os.dup2(file.fileno(), number)
            sys.exit(cli.main(json.loads(line)))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, content(out), content(err)]), flush=True)
"""


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

    def call(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Return exit code and texts of ``plumbline WORDS``."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([*words]), file=self._process.stdin, flush=True)
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
