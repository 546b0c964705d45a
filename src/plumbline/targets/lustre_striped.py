"""Several OSTs of Lustre under one file, as shared files of many ranks lie on them.

Each OST is asked as if it were measured alone; the file has one stripe on every one of them.
"""

from __future__ import annotations

from typing import Sequence

from plumbline.errors import DocumentError
from plumbline.model.command import CommandRunner
from plumbline.model.printed import whole
from plumbline.targets.file_target import FileTarget
from plumbline.targets.interface import TargetState
from plumbline.targets.kind import Keys, Kind
from plumbline.targets.lustre import LustreTarget, misplaced, setstripe
from plumbline.targets.probe_file import NAME, Space, absolute

_OF_ONE = "nid"
"""What of the versions differs from OST to OST by nature."""


class StripedLustreTarget(FileTarget):
    """OSTs by their names; consecutive ``stripe_bytes`` of the file go from one to the next."""

    def __init__(
        self, where: tuple[str, int], osts: Sequence[str], component: str, fill_limit: float
    ) -> None:
        """Take mount point and stripe size, and the OSTs; raise DocumentError for impossible ones.

        One that is named twice would carry two stripes.
        """
        mount, self._stripe_bytes = where
        super().__init__(absolute(mount, "the mount of Lustre"), component, fill_limit)
        if len(set(osts)) != len(osts):
            raise DocumentError(f"the stripes of {component} name an OST twice; name each once")
        self._osts = [LustreTarget(mount, ost, component, fill_limit) for ost in osts]

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of all OSTs together: the fullest one's fill, the flags of any."""
        states = [ost.state(run) for ost in self._osts]
        names = dict.fromkeys(name for state in states for name in state.versions)
        return TargetState(
            max(state.fill for state in states if state.fill is not None),
            tuple(dict.fromkeys(flag for state in states for flag in state.flags)),
            {
                name: " ".join(dict.fromkeys(state.versions.get(name, "-") for state in states))
                for name in names
                if name != _OF_ONE
            },
        )

    def _space(self, run: CommandRunner) -> Space:
        """Return the space as if all OSTs were like the one with the least: it fills up first."""
        spaces = [ost.space(run) for ost in self._osts]
        least = min(spaces, key=lambda space: space.available)
        return Space(least.used * len(spaces), least.available * len(spaces))

    def _create(self, run: CommandRunner) -> None:
        where = ",".join(str(ost.index) for ost in self._osts)
        size = ["-S", str(self._stripe_bytes), "-L", "raid0"]
        names = f"one of {', '.join(ost.name for ost in self._osts)}"
        arguments = ["-c", str(len(self._osts)), *size, "-o", where, NAME]
        setstripe(run, arguments, self._file.within(make=True), names)

    def _misplaced(self, run: CommandRunner) -> str:
        return misplaced(run, self._file, [(ost.index, ost.name) for ost in self._osts])


def osts_of(keys: Keys) -> tuple[str, ...]:
    """Return the OSTs that one file is striped over; none of a target that stands for itself."""
    return tuple(keys["osts"].split(",")) if keys.get("kind") == STRIPED.name else ()


def _make(keys: Keys, component: str, fill_limit: float) -> StripedLustreTarget:
    size = whole(str(keys["stripe_bytes"]), f"stripe_bytes of target {component}", DocumentError)
    return StripedLustreTarget((keys["mount"], size), osts_of(keys), component, fill_limit)


STRIPED = Kind(
    "lustre-striped",
    frozenset({"mount", "osts", "stripe_bytes"}),
    frozenset(),
    _make,
    everywhere=True,
    counted=lambda keys, _component: osts_of(keys),
)
"""Several OSTs at once: ``osts`` are their names with commas between them."""
