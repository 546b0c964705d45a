"""Brick of a GlusterFS distribute volume, measured through a client's mount.

The name ``NAME@VOLUME-dht:VOLUME-client-N`` creates a file on a brick.  The client's view of its
bricks is below ``MOUNT/.meta``, and the extended attribute ``glusterfs.pathinfo`` shows the bricks
of a file; both are readable without root, and no brick is asked.

The brick that the hash of a name selects also gets an entry: a link to the brick with the file
(xlators/cluster/dht/src/dht-linkfile.c).  While that brick is down or broken, no file of this name
can be created or found on a working brick.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional

from plumbline.measure.targets.interface import (
    Descriptions,
    Holder,
    Keys,
    Kind,
    TargetState,
    elsewhere,
    on_any,
)
from plumbline.measure.targets.probe_file import NAME, TRIALS, Client, FileTarget
from plumbline.model.command import CommandRunner, Within
from plumbline.model.errors import BrokenTarget, DisturbedTarget, LostTarget, NoMount, SkipTarget
from plumbline.model.names import SUBVOLUME
from plumbline.model.validation import whole
from plumbline.observe.mounts import Mount, Room, Space, mount_at
from plumbline.observe.query import QUICK_S, SLOW_S, ask, complaint, is_dead

_PATHINFO = re.compile(r"<POSIX\((?P<brick>[^()]*)\):(?P<host>[^:<>]*):(?P<file>[^<>]*)>")
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")

_CLIENT = re.compile(r"^subvolumes\[\d+\] = protocol/client\.(\S+)$", re.MULTILINE)
_FOLDER = re.compile(r"-layout \(")


class FileBricks(NamedTuple):
    """Bricks of a file, as path and server; ``folder`` is True for a folder, which is on all."""

    bricks: tuple[tuple[str, str], ...]
    folder: bool


def bricks_of(run: CommandRunner, path: str, within: Optional[Within] = None) -> FileBricks:
    """Return the bricks of a file, given by its path or its name in a folder.

    Raises:
        SkipTarget: the attribute is missing or not understood.
    """
    arguments = ["getfattr", "--absolute-names", "--only-values", "-n", "glusterfs.pathinfo"]
    text = ask(run, [*arguments, "--", path], QUICK_S, within)
    bricks = tuple((place[0], place[1]) for place in _PATHINFO.findall(text))
    if not bricks:
        raise SkipTarget(f"{path} does not tell where it lies: {text.strip()[:120]!r}")
    return FileBricks(bricks, _FOLDER.search(text) is not None)


class GlusterfsTarget(FileTarget):
    """One brick, by the name of its subvolume, e.g. ``scratch-client-3``."""

    def __init__(
        self, client: Client, subvolume: tuple[str, str], component: str, fill_limit: float
    ) -> None:
        """Take the mount, and the subvolume with its brick ``HOST:/PATH`` or an empty text.

        Raises:
            DocumentError: the mount is not absolute, or the name of the subvolume is invalid.
        """
        client = client.checked("GlusterFS")
        super().__init__(client.folder, component, fill_limit)
        name = SUBVOLUME.match("the subvolume", subvolume[0])
        self._mount = client.mount
        self._subvolume, self._expected = subvolume
        self._volume = name["volume"]
        self._meta = f"{self._mount}/.meta"

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a brick that is connected, accepts a file and is not too full."""
        mount = mount_at(run, self._mount)
        if mount.kind != "fuse.glusterfs":
            raise SkipTarget(f"{self._mount} is {mount.source} ({mount.kind}), not GlusterFS")
        mount.refuse_read_only()
        version = self._version(run)
        self._connected(run)
        host, path = self._brick(run)
        if self._expected not in ("", f"{host}:{path}"):
            raise SkipTarget(
                f"{self._subvolume} is the brick {host}:{path}, not {self._expected}; "
                "correct the subvolume in the topology"
            )
        with self._attributing(run):
            self._file.look(run)
            self._try(run)
        space = self._space(run)
        space.refuse_above(self._fill_limit, 0, self._subvolume)
        return TargetState(space.fill, (), {"client": version})

    def _version(self, run: CommandRunner) -> str:
        completed = run(["cat", f"{self._meta}/version"], QUICK_S)
        if is_dead(completed.stderr):
            raise NoMount(
                f"{complaint(completed)}: the GlusterFS client of {self._mount} has died; unmount "
                "and mount it again"
            )
        if completed.timed_out or completed.hung:
            raise NoMount(f"{complaint(completed)}: the GlusterFS client does not answer")
        if not completed.ok:
            raise SkipTarget(complaint(completed))
        text = completed.stdout
        version = re.search(r'"Package Version": "(\d[^"]*)"', text)
        if not version:
            raise SkipTarget(f"{self._meta}/version says {text!r}, which is not understood")
        return version[1]

    def _connected(self, run: CommandRunner) -> None:
        if not self._is_connected(run, self._subvolume):
            raise LostTarget(f"this client has no connection to {self._subvolume}")

    def _is_connected(self, run: CommandRunner, subvolume: str) -> bool:
        text = ask(run, ["cat", f"{self._graph}/{subvolume}/private"])
        return re.search(r"^connected = 1$", text, re.MULTILINE) is not None

    def refuse_lost(self, run: CommandRunner) -> None:
        """Raise if the client is not connected to the brick."""
        self._version(run)
        self._connected(run)

    def server_answers(self, run: CommandRunner) -> Optional[bool]:
        """Return True if another brick of the same server is connected, None if it has no other.

        All bricks are asked first, because only then does the client notice a lost brick.
        """
        run(["stat", "--file-system", "--", self._mount], SLOW_S)
        bricks = _CLIENT.findall(ask(run, ["cat", f"{self._graph}/{self._volume}-dht/private"]))
        host = self._host(run, self._subvolume)
        siblings = [
            name for name in bricks if name != self._subvolume and self._host(run, name) == host
        ]
        return any(self._is_connected(run, name) for name in siblings) if siblings else None

    def _brick(self, run: CommandRunner) -> tuple[str, str]:
        brick = f"{self._graph}/{self._subvolume}/options/remote-subvolume"
        return self._host(run, self._subvolume), ask(run, ["cat", brick]).strip()

    def _host(self, run: CommandRunner, subvolume: str) -> str:
        return ask(run, ["cat", f"{self._graph}/{subvolume}/options/remote-host"]).strip()

    @property
    def _graph(self) -> str:
        return f"{self._meta}/graphs/active"

    def _pinned(self, name: str) -> str:
        return f"{name}@{self._volume}-dht:{self._subvolume}"

    def _try(self, run: CommandRunner) -> None:
        """Create and remove an empty file on the brick, under the first name that works.

        The client updates the fill of its bricks only when it creates something.
        """
        first_error: Optional[BrokenTarget] = None
        for name in TRIALS:
            error = self._refused(run, name)
            if error is None:
                return
            first_error = first_error or error
        if first_error is not None:
            raise first_error

    def _refused(self, run: CommandRunner, name: str) -> Optional[BrokenTarget]:
        """Create and remove a file; return the error, None on success."""
        try:
            self._file.ask(run, ["touch", "--", self._pinned(name)], make=True)
            self._file.ask(run, ["rm", "-f", "--", name])
        except BrokenTarget as error:
            return error
        return None

    @contextmanager
    def _attributing(self, run: CommandRunner) -> Iterator[None]:
        """Blame another brick for an error if this brick is connected."""
        try:
            yield
        except BrokenTarget as error:
            if is_dead(str(error)) and self._is_connected(run, self._subvolume):
                raise self._blame_another(error) from error
            raise

    def _blame_another(self, error: BrokenTarget) -> DisturbedTarget:
        return DisturbedTarget(
            f"{error}; {self._subvolume} works: the name hashes to another brick, which does not"
        )

    def room(self, run: CommandRunner) -> Room:
        """Return the space of a connected brick; the client does not know its inodes.

        All bricks are asked first, because only then does the client notice a lost brick.
        """
        mount_at(run, self._mount)
        run(["stat", "--file-system", "--", self._mount], SLOW_S)
        self._connected(run)
        return Room(self._space(run))

    def _space(self, run: CommandRunner) -> Space:
        text = ask(run, ["cat", f"{self._graph}/{self._volume}-dht/private"])
        match = re.search(
            rf"^subvolumes\[(\d+)\] = {self._subvolume}\n"
            r"du_stats\[\1\]\.avail_percent = (\d+)\.\d+\n"
            r"du_stats\[\1\]\.avail_space = (\d+)$",
            text,
            re.MULTILINE,
        )
        if not match:
            raise SkipTarget(
                f"{self._graph}/{self._volume}-dht/private does not say how full "
                f"{self._subvolume} is"
            )
        # the client has whole percents of space, rounded down: the fill may be too high
        share, available = (whole(match[place], "the space", SkipTarget) for place in (2, 3))
        total = available * 100 // max(1, share)
        return Space(max(1, total - available), available)

    def _create(self, run: CommandRunner) -> None:
        # a file of that name on another brick would remain there; place has excluded that
        try:
            self._file.ask(run, ["touch", "--", self._pinned(NAME)], make=True)
        except BrokenTarget as error:
            # raises if no other name works either
            self._try(run)
            raise self._blame_another(error) from error

    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the file of ``size_bytes``; create it if needed."""
        with self._attributing(run):
            return super().place(run, size_bytes)

    def find(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of a complete file that an earlier run kept."""
        with self._attributing(run):
            return super().find(run, size_bytes)

    def verify(self, run: CommandRunner, path: str) -> None:
        """Check that the placed file still lies only on this brick, at full size."""
        with self._attributing(run):
            super().verify(run, path)

    def is_brick(self, run: CommandRunner, brick: str, host: str) -> bool:
        """Return True if path and server are this brick's; ``host`` is the server's hostname."""
        server, path = self._brick(run)
        return brick == path and _short(host) in self._names(run, server)

    def _misplaced(self, run: CommandRunner) -> str:
        bricks = bricks_of(run, NAME, self._file.within()).bricks
        if len(bricks) == 1 and self.is_brick(run, *bricks[0]):
            return ""
        host, path = self._brick(run)
        places = ", ".join(f"{server}:{brick}" for brick, server in bricks)
        return f"{self._file.path} lies on {places} instead of {host}:{path} ({self._subvolume})"

    @staticmethod
    def _names(run: CommandRunner, host: str) -> set[str]:
        """Return the possible hostnames of a server that the volume calls ``host``."""
        if not _ADDRESS.fullmatch(host):
            return {_short(host)}
        return {_short(name) for name in ask(run, ["getent", "hosts", host]).split()[1:]}


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


def _make(keys: Keys, component: str, fill_limit: float) -> GlusterfsTarget:
    brick = keys["subvolume"], keys.get("brick", "")
    client = Client(keys["mount"], keys.get("folder", ""))
    return GlusterfsTarget(client, brick, component, fill_limit)


def _find(run: CommandRunner, path: str, mount: Mount, targets: Descriptions) -> tuple[Holder, ...]:
    bricks = {
        name: _make(keys, name, 1.0)
        for name, keys in targets.items()
        if keys["kind"] == GLUSTERFS.name and keys["mount"].rstrip("/") == mount.point
    }
    if not bricks:
        raise elsewhere(path, mount)
    place = bricks_of(run, path)
    if place.folder:
        raise on_any(path)
    return tuple(
        Holder(
            f"{host}:{brick}",
            next(
                (name for name, target in bricks.items() if target.is_brick(run, brick, host)), ""
            ),
        )
        for brick, host in place.bricks
    )


GLUSTERFS = Kind(
    "glusterfs",
    frozenset({"mount", "subvolume"}),
    frozenset({"brick", "folder"}),
    _make,
    mounted="fuse.glusterfs",
    find=_find,
    everywhere=True,
    storage=lambda keys, _component: (keys["kind"], keys.get("brick", keys["subvolume"])),
)
