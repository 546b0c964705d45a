"""What targets with a probe file have in common: when it is kept, made again, and trusted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Optional

from plumbline.errors import DocumentError, SkipTarget
from plumbline.model.command import CommandRunner, Within
from plumbline.targets.caches import Cache, page_cache
from plumbline.targets.interface import TargetState
from plumbline.targets.probe_file import ProbeFile, Space, Status, quota

APART = ".plumbline-caches"
_LONGEST_NAME = 255
"""Bytes that a folder's name may have (limits.h, NAME_MAX)."""
_WHOLE = 0.99
"""Below this fraction of its size a file is not whole; some file systems count a little less."""


class FileTarget(ABC):
    """A target that is measured through one permanent file; see :class:`.interface.Target`."""

    _ALONE = False
    """Whether all that lies below the base is this target's: an I/O error there is its fault."""

    def __init__(self, base: str, component: str, fill_limit: float) -> None:
        """Take the folder that holds the file, the component's name, and the highest fill.

        Raises:
            DocumentError: the component has no name, or one that no folder can have.
        """
        if not component:
            raise DocumentError(f"a target on {base} has no name; give it one in the topology")
        self._file = ProbeFile(base, component, own_folders=self._ALONE)
        if len(self._file.folder.rpartition("/")[2]) > _LONGEST_NAME:
            raise DocumentError(
                f"the name {component[:40]!r}... is too long for a target; shorten it"
            )
        self._fill_limit = fill_limit
        self._size: Optional[int] = None
        self._inode: Optional[int] = None

    @property
    def folder(self) -> tuple[str, Within]:
        """Return the name of the file's folder, and the one that holds those of all targets."""
        return self._file.name, self._file.within_own()

    def apart(self) -> None:
        """Take a folder of another name: root must not work in that of the user of the probes."""
        self._file = self._file._replace(hidden=APART)

    def caches(self, size_bytes: int) -> tuple[Cache, ...]:  # noqa: ARG002
        """Return what may serve a read of the placed file in the place of the storage.

        The nearest to the reader comes first.
        """
        return (page_cache(self.within()),)

    @abstractmethod
    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a target that may be measured."""

    @abstractmethod
    def _space(self, run: CommandRunner) -> Space:
        """Return how full the target is."""

    @abstractmethod
    def _create(self, run: CommandRunner) -> None:
        """Make the empty file on the target, in a folder that may not be there yet."""

    @abstractmethod
    def _misplaced(self, run: CommandRunner) -> str:
        """Return in words where the file lies wrongly, nothing when it lies on this target."""

    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the file of ``size_bytes``, making it when needed."""
        status = self._usable(run, size_bytes)
        missing = size_bytes - (status.allocated if status else 0)
        self._space(run).refuse_above(self._fill_limit, max(0, missing), self._file.base)
        if status is None:
            self._create(run)
            self._file.resize(run, size_bytes)
        self._size, self._inode = size_bytes, status and status.inode
        self.verify(run, self._file.path)
        return self._file.path

    def within(self) -> Optional[Within]:
        """Return where a tool finds the placed file, and no other one, as its standard input."""
        return self._file.opened(self._inode)

    def find(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the file that an earlier run has left, with all of its bytes.

        Raises:
            SkipTarget: it is not there, has another size or holes, or lies elsewhere.
        """
        status = self._file.look(run)
        if status is None or status.size != size_bytes:
            there = "is not there" if status is None else f"has {status.size} bytes"
            raise SkipTarget(
                f"{self._file.path} {there}, {size_bytes} bytes are to be read; let a run on the "
                "same terms keep its files first"
            )
        if status.allocated < size_bytes * _WHOLE:
            raise SkipTarget(
                f"{self._file.path} has holes: the run that wrote it was cut short, and holes are "
                "read too fast; let another one keep its files"
            )
        self._size, self._inode = size_bytes, status.inode
        self.verify(run, self._file.path)
        return self._file.path

    def refuse_without_room(self, run: CommandRunner, size_bytes: int) -> None:
        """Raise SkipTarget when ``size_bytes`` more would fill the target above its limit."""
        self._space(run).refuse_above(self._fill_limit, size_bytes, self._file.base)

    def verify(self, run: CommandRunner, path: str) -> None:
        """Return if the placed file still lies on this target alone, at full size."""
        if path != self._file.path or self._size is None:
            raise SkipTarget(f"{path} was not placed on {self._file.component}; place it first")
        status = self._file.look(run)
        if status is None:
            raise SkipTarget(f"{path} is gone; run the probe again to make a new one")
        if status.size != self._size:
            raise SkipTarget(
                f"{path} has {status.size} bytes instead of {self._size}; somebody changed it, "
                "run the probe again to make a new one"
            )
        # a file that was just made is known from here on
        self._inode = self._inode or status.inode
        if status.inode != self._inode:
            raise SkipTarget(
                f"{path} is another file than the one that was placed; somebody exchanged it, "
                "run the probe again to make a new one"
            )
        wrong = self._misplaced(run)
        if wrong:
            raise SkipTarget(wrong)

    def server_answers(self, run: CommandRunner) -> Optional[bool]:  # noqa: ARG002
        """Return None: whether the server answers this node cannot know."""
        return None

    def refuse_lost(self, run: CommandRunner) -> None:  # noqa: B027
        """Return: whether the target is connected this node cannot know."""

    def waits_for_others(self, run: CommandRunner) -> bool:  # noqa: ARG002
        """Return True: its folders may lie on several servers."""
        return True

    def traffic(self, run: CommandRunner) -> Optional[int]:  # noqa: ARG002
        """Return None: what a server's target moves is known to that server alone."""
        return None

    def cause(self, run: CommandRunner, said: str, since: float) -> str:  # noqa: ARG002
        """Return why a tool failed that ``said`` so, with the remedy; empty where that is plain."""
        return quota(self._file.base) if "disk quota exceeded" in said.lower() else ""

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the paths that plumbline has made on this target, deepest first."""
        return self._file.leftovers(run)

    def remove(self, run: CommandRunner) -> None:
        """Remove all of ``leftovers``."""
        self._file.remove(run)

    def _usable(self, run: CommandRunner, size_bytes: int) -> Optional[Status]:
        """Return the file's status; None when there is none or it had to be removed."""
        status = self._file.look(run)
        if status is None or (status.size == size_bytes and not self._misplaced(run)):
            return status
        self._file.unlink(run)
        if self._file.look(run) is not None:
            raise SkipTarget(
                f"{self._file.path} is still there after it was removed; remove it by hand"
            )
        return None
