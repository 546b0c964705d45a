"""What every probe can do: one process per operation and repeat, ``command`` and ``parse``."""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol

from plumbline.model.command import Completed, Within
from plumbline.model.measurement import Measurement
from plumbline.model.record import Operation
from plumbline.model.spec import ProbeSpec


class Job(NamedTuple):
    """One operation, to be carried out once by one process.

    ``subject`` is the path of the probe file, the device, or the partner's address.  ``within`` is
    where the tool finds the probe file as its standard input, None for what is no file.
    ``block_size`` is the logical block of a device, in bytes.  For host pairs ``own_address`` is
    the address to send from, ``port`` that of the partner's server, and ``confidence_pct`` the full
    width of the confidence interval asked for, None for a single iteration.
    """

    operation: Operation
    spec: ProbeSpec
    subject: str
    block_size: int = 512
    own_address: str = ""
    port: int = 0
    confidence_pct: Optional[float] = None
    within: Optional[Within] = None


class Probe(Protocol):
    """One tool; implemented by a module."""

    @property
    def OPERATIONS(self) -> tuple[Operation, ...]:  # noqa: N802
        """What the tool can measure."""
        ...

    @property
    def VERSION_COMMAND(self) -> tuple[str, ...]:  # noqa: N802
        """The call that prints the tool's version."""
        ...

    def command(self, job: Job) -> tuple[str, ...]:
        """Return the argument list; raise DocumentError for a job that the tool cannot do."""
        ...

    def limit_s(self, job: Job) -> float:
        """Return the seconds after which a process of this job is stuck, not slow."""
        ...

    def parse(self, job: Job, completed: Completed) -> Measurement:
        """Return what was measured; raise ToolError with the tool's own words otherwise."""
        ...

    def parse_version(self, completed: Completed) -> str:
        """Return the version number alone; raise ToolError when it is not understood."""
        ...
