"""What a command prints, taken from it while it runs, up to a limit and never waited for in vain.

Pipes, because a command can fill no more than the pipe once nobody takes anything from it; memory
or a file would grow by gigabytes a second.  They are never read when nothing is in them: a process
that is stuck, or a child that outlives its command, may keep them open for good.
"""

from __future__ import annotations

import os
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector

_CHUNK = 1 << 16


class Printed:
    """Standard output and standard error of one command; ``inputs`` are the ends to give to it."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the most bytes that are kept of both together."""
        self._left = limit_bytes
        self._selector = DefaultSelector()
        self._texts: list[bytearray] = []
        self._ends: list[int] = []
        self.endless = False
        for _ in range(2):
            reader, writer = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reader, False)
            self._texts.append(bytearray())
            self._selector.register(reader, EVENT_READ, self._texts[-1])
            self._ends.append(writer)

    def __enter__(self) -> Printed:
        return self

    def __exit__(self, *_: object) -> None:
        self.begun()
        for key in list(self._selector.get_map().values()):
            self._close(key.fd)
        self._selector.close()

    @property
    def ends(self) -> tuple[int, int]:
        """Return where the command writes its output and its errors."""
        output, errors = self._ends
        return output, errors

    def begun(self) -> None:
        """Let go of the command's ends: from now on it alone has them."""
        while self._ends:
            os.close(self._ends.pop())

    @property
    def over(self) -> bool:
        """Whether nobody can print any more, or nothing more is taken."""
        return self.endless or not self._selector.get_map()

    def take(self, wait_s: float) -> bool:
        """Take what is there; wait up to ``wait_s`` for something.  Return whether there was."""
        if self.over:
            return False
        found = self._selector.select(max(0.0, wait_s))
        for key, _ in found:
            self._read(key.fd, key.data)
        return bool(found)

    def texts(self) -> tuple[str, str]:
        """Return output and errors, after taking what is still there."""
        while self.take(0.0):
            pass
        output, errors = (text.decode("utf-8", "replace") for text in self._texts)
        return output, errors

    def _read(self, reader: int, text: bytearray) -> None:
        part = b""
        with suppress(BlockingIOError):
            part = os.read(reader, _CHUNK)
            if not part:
                self._close(reader)
        # more than fits is not kept, and known by that
        text += part[: self._left]
        self.endless = self.endless or len(part) > self._left
        self._left -= min(self._left, len(part))

    def _close(self, reader: int) -> None:
        self._selector.unregister(reader)
        os.close(reader)
