"""Receiving ends of a host: servers of perftest, which take one client each and then end.

They wait only while the window of a slot is open.  A server is started again as soon as it has
ended, and ``timeout`` of coreutils ends it with the window, even if this process was killed.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Callable, NamedTuple, Sequence

from plumbline.measure.probes import perftest, probe_for
from plumbline.measure.probes.interface import Job, quoted
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation
from plumbline.observe.command import Clock

_MET = "local address:"
"""Words of perftest, on its server too, once a client has come."""

_PAUSE_S = 0.05
_PAUSE_AFTER_FAILURE_S = 1.0
_SPARE_S = 5.0


class Server(NamedTuple):
    """One receiving end: what it is for, and its command."""

    title: str
    argv: tuple[str, ...]


def servers_of(entries: Sequence[Expectation]) -> list[Server]:
    """Return the receiving ends of adapters, one for each operation.

    Raises:
        DocumentError: an expectation is unusable, or its tool needs no such end.
    """
    return [
        Server(f"{entry.component} {operation}", _command(entry, operation))
        for entry in entries
        for operation, _, _ in entry.runs()
    ]


def _command(entry: Expectation, operation: Operation) -> tuple[str, ...]:
    if probe_for(entry.spec.tool) is not perftest:
        raise DocumentError(f"{entry.spec.tool} has no receiving end that plumbline opens")
    return perftest.server_command(
        Job(
            operation,
            entry.spec_of(operation),
            str(entry.target["address"]),
            port=int(entry.target["port"]),
            adapter=str(entry.target["adapter"]),
        )
    )


class Receiver:
    """Servers that wait for clients until a moment; ``notes`` are why some did not wait."""

    def __init__(self, clock: Clock, runner: Callable[[threading.Event], CommandRunner]) -> None:
        self.notes: dict[str, str] = {}
        self.served = 0
        self._clock = clock
        self._stop = threading.Event()
        self._run = runner(self._stop)

    def close(self) -> None:
        """End all servers; ``serve`` returns."""
        self._stop.set()

    def serve(self, servers: Sequence[Server], seconds: float) -> None:
        """Keep all servers waiting for some seconds.

        Raises:
            ToolError: perftest is not installed.
        """
        deadline = self._clock.monotonic() + seconds
        with ThreadPoolExecutor(max(1, len(servers)), "plumbline-server") as threads:
            waiting = [threads.submit(self._keep, server, deadline) for server in servers]
            try:
                for done in waiting:
                    done.result()
            finally:
                # an interrupted main thread must not wait for the window to close
                self.close()

    def _keep(self, server: Server, deadline: float) -> None:
        while not self._stop.is_set():
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                return
            # not before the deadline, at which its end is no failure
            limit = f"{ceil(10 * left_s) / 10:.1f}"
            bounded = ("timeout", "--signal=KILL", limit, *server.argv)
            self._note(server, self._run(bounded, left_s + _SPARE_S), deadline)

    def _note(self, server: Server, ended: Completed, deadline: float) -> None:
        """Note the end of a server, and pause before the next one is started."""
        if ended.ok or self._stop.is_set() or self._clock.monotonic() >= deadline:
            self.served += ended.ok
            self._clock.sleep(_PAUSE_S)
            return
        if _MET not in ended.stdout:
            text = quoted(ended.stderr or ended.stdout) or f"exit code {ended.exit_code}"
            self.notes[server.title] = text
        self._clock.sleep(_PAUSE_AFTER_FAILURE_S)


def failures(receiver: Receiver, servers: Sequence[Server]) -> list[str]:
    """Return a sentence for each server that could not wait.

    Raises:
        ToolError: none could, and no client was served.
    """
    sentences = [
        f"{server.title}: the receiving end did not wait: {receiver.notes[server.title]}"
        for server in servers
        if server.title in receiver.notes
    ]
    if len(sentences) == len(servers) and not receiver.served:
        raise ToolError("; ".join(sentences))
    return sentences
