"""The process that carries out a run, so that whoever finds its note can see whether it lives."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import counts, texts

if TYPE_CHECKING:
    from typing import Any, Optional, Sequence


class Process(NamedTuple):
    """A process of one node.

    ``started`` is field 22 of proc_pid_stat(5), clock ticks since the boot: with it a number that
    was given to another process is not mistaken; ``boot`` is the boot's id of random(4); ``lock``
    the file whose lock the process and its tools hold, as ``MAJOR:MINOR:INODE`` of proc_locks(5).
    """

    pid: int
    started: int
    boot: str
    lock: str

    @classmethod
    def from_json(cls, raw: Optional[Sequence[Any]]) -> Optional[Process]:
        """Build from the document form, None where there is none; raise TypeError if damaged."""
        if raw is None:
            return None
        process = cls(*raw)
        counts(pid=process.pid, started=process.started)
        texts("process", (process.boot, process.lock))
        return process
