"""Raw block device, only for reading."""

from __future__ import annotations

from typing import Optional

from plumbline.measure.targets.interface import Keys, Kind, Target, TargetState
from plumbline.measure.targets.probe_file import absolute
from plumbline.model.command import CommandRunner
from plumbline.model.errors import BrokenTarget, DocumentError, PrivilegeError, SkipTarget
from plumbline.model.validation import whole
from plumbline.observe.mounts import Traffic, is_rotating, traffic_of
from plumbline.observe.query import QUICK_S, complaint, objection


class DeviceTarget(Target):
    """One device by a name under /dev, preferably a persistent one; only root can exchange it."""

    def __init__(self, device: str) -> None:
        """Take the device's path; raise DocumentError if it is not under /dev."""
        self._path = absolute(device, "the device of a target")
        if not self._path.startswith("/dev/"):
            raise DocumentError(
                f"the device {device} is not under /dev; correct it in the topology"
            )
        self._number = ""

    def state(self, run: CommandRunner) -> TargetState:
        """Return an empty state for an existing device; raise PrivilegeError if unreadable."""
        self._number = self._look(run)
        if run(["test", "-r", self._path], QUICK_S).exit_code == 1:
            raise PrivilegeError(f"this user may not read {self._path}")
        return TargetState(None, (), {})

    def place(self, run: CommandRunner, size_bytes: int) -> str:  # noqa: ARG002
        """Return the path of the device."""
        if self._look(run) != self._number:
            raise SkipTarget(f"{self._path} was not asked for its state, or changed since")
        return self._path

    def verify(self, run: CommandRunner, path: str) -> None:
        """Raise if the name leads to another device."""
        if path != self._path or self._look(run) != self._number:
            raise SkipTarget(f"{path} is not the same device as before; look at udev and multipath")

    def traffic(self, run: CommandRunner) -> Optional[Traffic]:
        """Return the bytes that the kernel counts for the device."""
        return traffic_of(run, self._look(run))

    def refuse_rotating(self, run: CommandRunner) -> None:
        """Raise SkipTarget unless the kernel calls the device flash (sysfs: queue/rotational)."""
        rotating = is_rotating(run, self._look(run))
        if rotating is None:
            raise SkipTarget(
                f"the kernel does not tell whether {self._path} rotates; small random reads are "
                "for flash alone"
            )
        if rotating:
            raise SkipTarget(
                f"the kernel calls {self._path} a rotating disk, the topology calls it flash; "
                "remove media there, or correct /sys/dev/block/"
                f"{self._number}/queue/rotational if the kernel is wrong"
            )

    def _look(self, run: CommandRunner) -> str:
        """Return the ``major:minor`` of the block device behind the name."""
        argv = ["stat", "--dereference", "--format=%F/%t/%T", "--", self._path]
        completed = run(argv, QUICK_S)
        if completed.exit_code == 1 and "No such file or directory" in completed.stderr:
            raise BrokenTarget(
                f"{complaint(completed)}; the device is gone, or the topology names it wrongly"
            )
        if not completed.ok:
            raise objection(completed, own=True)
        text = completed.stdout
        kind, _, numbers = text.strip().partition("/")
        if kind != "block special file":
            raise SkipTarget(f"{self._path} is a {kind}, not a block device; correct the topology")
        major, slash, minor = numbers.partition("/")
        if not slash:
            raise SkipTarget(f"stat of {self._path} printed {text[:80]!r}")
        subject = f"the device number of {self._path}"
        return ":".join(str(whole(part, subject, SkipTarget, 16)) for part in (major, minor))


def _make(keys: Keys, _component: str, _fill_limit: float) -> DeviceTarget:
    return DeviceTarget(keys["device"])


DEVICE = Kind("device", frozenset({"device"}), frozenset(), _make)
