"""Processes of a command in Python as forks of one process, which has imported it once.

A Python that imports what most verbs of plumbline need takes a third of a second, one that imports
Ansible half a second, and tests start hundreds.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import BinaryIO, Mapping, Optional, Sequence

# Arguments are a listening socket, the module of the command, folders of modules, and modules to
# import. It ends with its standard input. A request on a connection brings files for output and
# errors, before them one for input if there is any; the answers are the process and its exit code.
PROGRAM = """
import ast, atexit, gc, importlib, os, select, signal, socket, sys, threading, time
listener = socket.socket(fileno=int(sys.argv[1]))
sys.path[:0] = [word for word in sys.argv[3:] if "/" in word]
command = importlib.import_module(sys.argv[2])
for name in [word for word in sys.argv[3:] if "/" not in word]:
    importlib.import_module(name)
gc.freeze()

signal.signal(signal.SIGINT, signal.SIG_IGN)
wake, ring = os.pipe()
os.set_blocking(ring, False)
signal.set_wakeup_fd(ring)
signal.signal(signal.SIGCHLD, lambda *_: None)
connections = {}

def answer(connection, text):
    # whoever asked may have been killed meanwhile
    try:
        connection.send(text.encode())
    except OSError:
        pass

def become(words, folder, environment, files):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if len(files) == 2:
        files = (os.open(os.devnull, os.O_RDONLY), *files)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.close(wake)
    os.close(ring)
    for other in (listener, *connections.values()):
        other.close()
    os.chdir(folder)
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
    sys.argv[1:] = words
    try:
        code = command.main(words)
    except SystemExit as error:
        code = error.code
    if isinstance(code, str):
        sys.exit(code)
    # a Python that ends visits all that was imported, and so copies it
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code or 0)

while True:
    ready, _, _ = select.select([listener, wake, 0], [], [])
    if wake in ready:
        os.read(wake, 1 << 16)
        for child in [*connections]:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                with connections.pop(child) as connection:
                    answer(connection, str(os.waitstatus_to_exitcode(status)))
    if listener in ready:
        connection, _ = listener.accept()
        try:
            request, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        except ConnectionResetError:
            request = b""
        if not request:
            connection.close()
            continue
        child = os.fork()
        if not child:
            connection.close()
            become(*ast.literal_eval(request.decode()), files)
        connections[child] = connection
        for file in files:
            os.close(file)
        answer(connection, str(child))
    elif 0 in ready:
        sys.exit()
"""


class Fork:
    """One process; its members are those of ``subprocess.Popen``."""

    def __init__(
        self, args: Sequence[str], connection: socket.socket, pipes: Sequence[int]
    ) -> None:
        self.args = [*args]
        self.pid = int(_answer(connection))
        self.returncode: Optional[int] = None
        self._connection = connection
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
        return self._code(0.0)

    def wait(self, timeout: float = 600.0) -> int:
        """Wait for the exit code; raise subprocess.TimeoutExpired after a time in seconds."""
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def _code(self, wait_s: float) -> Optional[int]:
        if self.returncode is None and select([self._connection], [], [], wait_s)[0]:
            with self._connection:
                self.returncode = int(_answer(self._connection))
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

    def __init__(
        self,
        *python: str,
        command: str = "plumbline.cli",
        modules: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> None:
        """Start a Python with its options, which imports modules from the folders among them.

        The function ``main`` of the module ``command`` gets the words of each call.
        """
        self._folder = TemporaryDirectory(prefix="forks-")
        self.path = f"{self._folder.name}/socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path)
            listener.listen(128)
            number = listener.fileno()
            self._process = subprocess.Popen(
                [*python, "-c", PROGRAM, str(number), command, *modules],
                stdin=subprocess.PIPE,
                pass_fds=[number],
                env={**os.environ, **environment},
            )

    def start(
        self,
        words: Sequence[str],
        folder: Optional[Path] = None,
        environment: Optional[Mapping[str, str]] = None,
    ) -> Fork:
        """Start the command in a folder, with an environment or that of the process."""
        variables = environment if environment is None else dict(environment)
        request = [[*words], str(folder or Path.cwd()), variables]
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self.path)
        readers, writers = zip(os.pipe(), os.pipe())
        try:
            socket.send_fds(connection, [repr(request).encode()], [*writers])
        finally:
            for writer in writers:
                os.close(writer)
        return Fork(words, connection, readers)

    def call(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Return exit code and texts of the command."""
        fork = self.start(words)
        out, err = fork.communicate()
        return subprocess.CompletedProcess([*words], fork.wait(), out, err)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


def _answer(connection: socket.socket) -> bytes:
    answer = connection.recv(1 << 10)
    assert answer, "the process of the forks has ended; see its error above"
    return answer


def _read(file: BinaryIO, text: bytearray) -> None:
    with file:
        while part := file.read(1 << 16):
            text += part
