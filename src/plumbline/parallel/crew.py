"""The files of a parallel run: made and proven before the clock starts, removed afterwards.

Each file is one of a target of its own name, ``COMPONENT.fs-N``, so that the target's ways to pin
and to prove hold for it, and a run that was killed leaves nothing that the next one cannot name.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from enum import Enum
from typing import Iterator, NamedTuple, Optional

from plumbline.measure.targets import osts_of, target_for
from plumbline.measure.targets.interface import TargetState
from plumbline.measure.targets.probe_file import FileTarget
from plumbline.measure.trial import NO_STATE, Failure, Watch
from plumbline.model.command import CommandRunner
from plumbline.model.errors import PrivilegeError, SkipTarget, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome
from plumbline.observe.query import SLOW_S, ask
from plumbline.parallel.terms import Place


class Files(str, Enum):
    """Origin of the files of a run, and their fate."""

    FRESH = "fresh"
    """Made for the run and removed after it."""
    KEEP = "keep"
    """Made for the run and kept for later ones, until the next that makes its own."""
    FOUND = "found"
    """Kept by an earlier run, read, and left where they are."""


class Share(NamedTuple):
    """Load of each target: ``ranks`` that move ``rank_bytes`` each, into one file or several."""

    ranks: int
    rank_bytes: int
    shared: bool

    @property
    def files(self) -> int:
        """Files on each target."""
        return 1 if self.shared else self.ranks

    @property
    def file_bytes(self) -> int:
        """Size of each file."""
        return self.rank_bytes * (self.ranks if self.shared else 1)

    @property
    def bytes(self) -> int:
        """Bytes written on one target."""
        return self.rank_bytes * self.ranks


class Member:
    """One target of a parallel run and its files; ``failure`` says why it takes no part."""

    def __init__(
        self, entry: Expectation, server: str, share: Share, runner: CommandRunner
    ) -> None:
        self.entry = entry
        self.state: TargetState = NO_STATE
        self.failure: Optional[Failure] = None
        self.grown: Optional[int] = None
        self.watch = Watch(runner)
        self._server = server
        self._share = share
        self._targets = [self._target(index) for index in range(share.files)]
        self._paths: list[str] = []
        self._moved: Optional[int] = None
        self._device = entry.component

    @property
    def made(self) -> bool:
        """True if all files were made."""
        return len(self._paths) == self._share.files

    @property
    def places(self) -> Iterator[Place]:
        """Places of the ranks of this target."""
        name = self.entry.component
        for rank in range(self._share.ranks):
            if self._share.shared:
                offset = rank * self._share.rank_bytes
                yield Place(name, self._server, self._paths[0], offset)
            else:
                yield Place(name, self._server, self._paths[rank])

    def look_again(self, files: Files) -> None:
        """Look a second time at a target that gave no answer."""
        if self.failure is not None and self.failure.outcome is Outcome.UNANSWERED:
            self.failure = None
            self.look(files)

    def look(self, files: Files = Files.FRESH) -> None:
        """Check that the target may be measured, and remove the files of earlier runs."""
        with self._failing():
            if files is not Files.FOUND:
                for target in self._leftovers():
                    target.remove(self.watch)
            self.state = self._targets[0].state(self.watch)
            self._device = self._find_device()

    def make(self, others_bytes: int = 0) -> None:
        """Make and prove the files; ``others_bytes`` go to the same device for other targets."""
        with self._failing():
            self._targets[0].refuse_without_room(self.watch, self._share.bytes + others_bytes)
            for target in self._targets:
                target.state(self.watch)
                self._paths.append(target.place(self.watch, self._share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def find(self) -> None:
        """Take and prove the files that an earlier run has kept."""
        with self._failing():
            for target in self._targets:
                self._paths.append(target.find(self.watch, self._share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def prove(self) -> None:
        """Check after the run that every file still lies on its target."""
        if self.failure is not None:
            return
        with self._failing():
            after = self._targets[0].traffic(self.watch)
            if after is not None and self._moved is not None:
                self.grown = after - self._moved
            for target, path in zip(self._targets, self._paths):
                target.verify(self.watch, path)

    def remove(self) -> None:
        """Remove all files; a target that gives no answer keeps its own until the next run."""
        if not self.watch.stuck:
            for target in self._targets:
                with suppress(SkipTarget, ToolError):
                    target.remove(self.watch)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Keep the first error as the reason why this target takes no part.

        Raises:
            PrivilegeError: this user may not measure it, and so none of them.
        """
        try:
            yield
        except PrivilegeError:
            raise
        except (SkipTarget, ToolError) as error:
            self.failure = self.failure or _of_this_run(self.watch.failure(error))

    def shares_with(self, other: Member) -> bool:
        """Return True if both lie on one device, or are the same."""
        return self._device == other._device

    def _find_device(self) -> str:
        """Return the device number of a directory; other targets have their own device."""
        folder = self.entry.target.get("directory")
        if folder is None:
            return self.entry.component
        return ask(self.watch, ["stat", "--format=%d", "--", folder]).strip()

    def _target(self, index: int) -> FileTarget:
        # a file over several targets is named after the first, whose next run finds what is left
        name, *_ = (*osts_of(self.entry.target), self.entry.component)
        return self._named(f"{name}.fs-{index}")

    def _named(self, name: str) -> FileTarget:
        described = dict(self.entry.target)
        if described.get("kind") == "lustre":
            described.setdefault("ost", self.entry.component)
        target = target_for(described, name, self.entry.limits.fill_limit)
        if not isinstance(target, FileTarget):
            raise SkipTarget(f"{self.entry.component} is no target that keeps files")
        return target

    def _leftovers(self) -> Iterator[FileTarget]:
        """Yield the targets of files that an earlier run with more files has left."""
        name, own = self._targets[0].folder
        words = ["find", ".", "-mindepth", "1", "-maxdepth", "1", "-type", "d"]
        listing = self.watch([*words, "-name", f"{name[:-1]}*", "-printf", "%f\\n"], SLOW_S, own)
        for folder in listing.stdout.splitlines() if listing.ok else ():
            number = folder[len(name) - 1 :]
            if number.isdigit():
                yield self._target(int(number))


def _of_this_run(failure: Failure) -> Failure:
    """Return a target's failure; a fault that is not its own becomes a skip."""
    own_outcomes = (Outcome.SKIPPED, Outcome.FAILED, Outcome.UNANSWERED)
    unreachable = failure.outcome is Outcome.UNREACHABLE
    cause = "; the target, its server or the network to it is down" if unreachable else ""
    if failure.outcome in own_outcomes:
        return failure
    return Failure(Outcome.SKIPPED, failure.reason + cause)
