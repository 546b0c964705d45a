"""Processes of plumbline as forks of one process, which has imported it once.

A Python that imports what most verbs need takes a third of a second, and tests start hundreds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from select import select
from types import TracebackType
from typing import BinaryIO, Mapping, Optional, Sequence

# Arguments are folders of modules, then modules to import; standard input is the channel.
PROGRAM = """
import importlib, json, os, select, signal, socket, sys, time
sys.path[:0] = [word for word in sys.argv[1:] if "/" in word]
import plumbline.cli as cli
for name in [word for word in sys.argv[1:] if "/" not in word]:
    importlib.import_module(name)

signal.signal(signal.SIGINT, signal.SIG_IGN)
channel = socket.socket(fileno=os.dup(0))
wake, ring = os.pipe()
os.set_blocking(ring, False)
signal.set_wakeup_fd(ring)
signal.signal(signal.SIGCHLD, lambda *_: None)
children = []

def become(words, folder, environment):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in (0, os.open(os.devnull, os.O_RDONLY)), (1, files[0]), (2, files[1]):
        os.dup2(file, number)
        os.close(file)
    for file in (wake, ring, channel.detach()):
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv[1:] = words
    sys.exit(cli.main(words))

while True:
    ready, _, _ = select.select([channel, wake], [], [])
    if wake in ready:
        os.read(wake, 1 << 16)
        for child in [*children]:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                children.remove(child)
                channel.send(json.dumps([child, os.waitstatus_to_exitcode(status)]).encode())
    if channel in ready:
        request, files, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not request:
            sys.exit()
        child = os.fork()
        if not child:
            become(*json.loads(request))
        children.append(child)
        for file in files:
            os.close(file)
        channel.send(json.dumps([child, None]).encode())
"""


class Fork:
    """One process; its members are those of ``subprocess.Popen``."""

    def __init__(self, forks: Forks, args: Sequence[str], pid: int, pipes: Sequence[int]) -> None:
        self.args = [*args]
        self.pid = pid
        self.returncode: Optional[int] = None
        self._forks = forks
        self._texts = [bytearray(), bytearray()]
        files = [os.fdopen(pipe, "rb", buffering=0) for pipe in pipes]
        self._readers = [
            threading.Thread(target=_read, args=pair, daemon=True)
            for pair in zip(files, self._texts)
        ]
        for reader in self._readers:
            reader.start()

    def poll(self) -> Optional[int]:
        """Return the exit code, None if the process still runs."""
        if self.returncode is None:
            self.returncode = self._forks.code(self.pid, 0.0)
        return self.returncode

    def wait(self, timeout: float = 600.0) -> int:
        """Wait for the exit code; raise subprocess.TimeoutExpired after a time in seconds."""
        if self.returncode is None:
            self.returncode = self._forks.code(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        """Wait for the end of the process, and of its output; return output and errors."""
        self.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        output, errors = (text.decode() for text in self._texts)
        return output, errors

    def send_signal(self, number: int) -> None:
        """Send a signal to the process if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Forks:
    """A process whose forks answer calls, until it is closed."""

    def __init__(self, *command: str, environment: Mapping[str, str] = {}) -> None:
        """Start the process; ``command`` ends with a Python and its options."""
        self._codes: dict[int, int] = {}
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*command], stdin=theirs.fileno(), env={**os.environ, **environment}
            )
        self._environment = {**os.environ, **environment}

    def start(
        self,
        words: Sequence[str],
        folder: Optional[Path] = None,
        environment: Optional[Mapping[str, str]] = None,
    ) -> Fork:
        """Start ``plumbline WORDS`` in a folder, with an environment of its own."""
        variables = self._environment if environment is None else environment
        request = [[*words], str(folder or os.getcwd()), dict(variables)]
        readers, writers = zip(os.pipe(), os.pipe())
        try:
            with self._lock:
                socket.send_fds(self._channel, [json.dumps(request).encode()], [*writers])
                pid = self._next(None)
        finally:
            for writer in writers:
                os.close(writer)
        return Fork(self, words, pid, readers)

    def call(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Return exit code and texts of ``plumbline WORDS``."""
        fork = self.start(words)
        out, err = fork.communicate()
        return subprocess.CompletedProcess([*words], fork.wait(), out, err)

    def code(self, pid: int, wait_s: float) -> Optional[int]:
        """Return the exit code of a fork, None if it has not ended within a time in seconds."""
        with self._lock:
            while pid not in self._codes and select([self._channel], [], [], wait_s)[0]:
                self._next(pid)
            return self._codes.pop(pid, None)

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self._process.wait()

    def _next(self, ended: Optional[int]) -> int:
        """Read until a fork has begun, or ``ended`` has ended; return its process."""
        while True:
            message = self._channel.recv(1 << 10)
            assert message, f"{self._process.args!r} has ended with {self._process.wait()}"
            pid, code = json.loads(message)
            if code is None:
                return int(pid)
            self._codes[pid] = code
            if ended is not None:
                return int(pid)

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


def _read(file: BinaryIO, text: bytearray) -> None:
    with file:
        while part := file.read(1 << 16):
            text += part
