"""Jobs of each probe with changes for a test, and ends of tools."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed, Within
from plumbline.model.layers.mdt import CREATE, MDT
from plumbline.model.layers.rdma import RDMA
from plumbline.model.record import Operation
from plumbline.model.spec import ProbeSpec
from tests.package.recorded import table

_JOBS: dict[str, Job] = {
    "fio": Job(
        Operation.READ,
        ProbeSpec("fio", 64 << 20, 5.0),
        "/mnt/a/.plumbline/a/probe.dat",
        within=Within("/mnt/a", (".plumbline", "a"), file="probe.dat", opened=True),
    ),
    "sgp_dd": Job(Operation.READ, ProbeSpec("sgp_dd", 128 << 20, 10.0), "/dev/sdb"),
    "netperf": Job(
        Operation.SEND,
        ProbeSpec("netperf", 1, 3.0, queue_depth=1),
        "10.77.0.11",
        own_address="10.77.0.21",
        port=12865,
    ),
    "iperf3": Job(
        Operation.SEND, ProbeSpec("iperf3", 1, 2.0, queue_depth=1), "10.77.0.11", port=12865
    ),
    "perftest": Job(
        Operation.WRITE,
        RDMA.spec,
        "10.77.0.11",
        own_address="10.77.0.21",
        port=18515,
        adapter="mlx5_0/1",
    ),
    "calls": Job(
        CREATE, MDT.spec, "/mnt/a/.plumbline/a", within=Within("/mnt/a", (".plumbline", "a"))
    ),
}


def job(tool: str, spec: Optional[dict[str, Any]] = None, **changes: Any) -> Job:
    """Return a valid job of ``tool`` with changes to it and to its specification."""
    valid = _JOBS[tool]
    return valid._replace(spec=valid.spec._replace(**(spec or {})), **changes)


def completed(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Completed:
    """Return the result of a tool that ended normally."""
    return Completed(("tool",), exit_code, stdout, stderr, 1.0)


class Good(NamedTuple):
    """An output in a file of tests/data, its job and its expected figures."""

    tool: str
    file: str
    MBps: float
    operation: Optional[str] = None
    spec: Mapping[str, Any] = {}
    exit_code: int = 0
    flags: Sequence[str] = ()
    seconds: Optional[int] = None
    retransmits: Optional[int] = None
    quantities: Mapping[str, float] = {}

    @property
    def job(self) -> Job:
        """Return the job."""
        valid = job(self.tool, dict(self.spec))
        return valid._replace(operation=Operation(self.operation)) if self.operation else valid

    def ended(self, text: str) -> Completed:
        """Return the result of the tool with this output; sgp_dd prints to standard error."""
        output, errors = ("", text) if self.tool == "sgp_dd" else (text, "")
        return completed(output, errors, self.exit_code)


_FILE = table("probes.yml")
GOOD = [Good(**raw) for raw in _FILE["good"]]
BROKEN: list[dict[str, Any]] = _FILE["broken"]
VERSIONS: dict[str, dict[str, str]] = _FILE["versions"]
CALLS: list[dict[str, Any]] = _FILE["calls"]
REFUSED: list[dict[str, Any]] = _FILE["refused"]


def changed(tool: str, case: Mapping[str, Any]) -> Job:
    """Return a job with the changes of a case."""
    changes = {name: case[name] for name in Job._fields if name in case and name != "spec"}
    if "operation" in changes:
        changes["operation"] = Operation(changes["operation"])
    if changes.get("within"):
        changes["within"] = Within(changes["within"])
    return job(tool, case.get("spec"), **changes)
