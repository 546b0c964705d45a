"""Read how full the targets of a file system are, as any user of a client may.

``lfs df`` asks each target and hangs at the first one that does not answer, so its output before
the time limit counts; a target without a line has a reason instead of figures, never 0.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Sequence

from plumbline.measure.targets import target_for
from plumbline.measure.targets.lustre import LUSTRE
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import SkipTarget
from plumbline.model.expectation import Expectation
from plumbline.model.space import MDT, OST, POOL, Amount, TargetSpace, whole_of
from plumbline.observe.lustre_output import Usage, parse_osts, parse_usages, usage_errors
from plumbline.observe.mounts import Space, mount_at
from plumbline.observe.query import QUICK_S, ask, complaint
from plumbline.parts.space.quotas import read_quotas

_DF_S = 20.0
"""Time limit of one ``lfs df``; a healthy one takes milliseconds for each target."""

_MAX_POOLS = 32
_ACTIVE = "ACTIVE"
_ANY_FILL = 1.0


def read_targets(
    run: CommandRunner, entries: Sequence[Expectation], quotas: Sequence[str] = ()
) -> tuple[TargetSpace, ...]:
    """Return the space of all targets of one file system; ``entries`` are this node's own.

    Raises:
        SkipTarget: nothing can be read: it is not mounted, or its tools give no answer.
        ToolError: a command is not installed.
    """
    lustre = [entry for entry in entries if entry.target.get("kind") == LUSTRE.name]
    if lustre:
        return read_lustre(run, str(lustre[0].target["mount"]), quotas)
    return tuple(_read_target(run, entry) for entry in entries)


def _read_target(run: CommandRunner, entry: Expectation) -> TargetSpace:
    """Return the space of a directory or brick, or the reason why it is not known."""
    try:
        room = target_for(entry.target, entry.component, _ANY_FILL).room(run)
    except SkipTarget as error:
        return TargetSpace(entry.component, trouble=str(error))
    if room is None:
        return TargetSpace(entry.component, trouble="it holds no files")
    if room.space.used < 0:
        return TargetSpace(entry.component, trouble="it reports more free space than it has")
    return TargetSpace(entry.component, space=_amount(room.space), inodes=_amount(room.inodes))


def _amount(space: Optional[Space]) -> Optional[Amount]:
    return None if space is None else Amount(space.used, space.available)


def read_lustre(
    run: CommandRunner, point: str, quotas: Sequence[str] = ()
) -> tuple[TargetSpace, ...]:
    """Return the space of all targets of a mounted Lustre file system, of its pools and quotas.

    Metadata targets come first, quotas last.

    Raises:
        SkipTarget: nothing is mounted there, or it is no Lustre, or ``lfs osts`` fails.
        ToolError: lfs is not installed.
    """
    mount = mount_at(run, point)
    if mount.kind != LUSTRE.mounted:
        raise SkipTarget(
            f"{point} is {mount.source} ({mount.kind}), not Lustre; correct the mount in the "
            "topology"
        )
    # neither asks a target
    osts = parse_osts(ask(run, ["lfs", "osts", point]))
    mdts = parse_osts(run(["lfs", "mdts", point], QUICK_S).stdout)
    if not osts and not mdts:
        raise SkipTarget(f"lfs osts {point} lists no targets; see that it is mounted")
    look = _look(run, point)
    targets = [
        look.target(name, kind, state)
        for kind, listed in ((MDT, mdts), (OST, osts))
        for name, (_, state) in sorted(listed.items(), key=lambda item: item[1][0])
    ]
    file_system = mount.source.partition(":/")[2].partition("/")[0]
    by_name = {target.name: target for target in targets}
    pools = _pools(run, file_system)
    return (
        *targets,
        *(_pool(name, members, by_name) for name, members in pools.items()),
        *read_quotas(run, mount.point, quotas),
    )


def _pools(run: CommandRunner, file_system: str) -> dict[str, list[str]]:
    """Return the OSTs of each pool; none if this user may not list them."""
    listed = run(["lfs", "pool_list", file_system], QUICK_S)
    lines = [line.strip() for line in listed.stdout.splitlines() if listed.ok]
    names = [line for line in lines if line.startswith(f"{file_system}.")][:_MAX_POOLS]
    members = {name: run(["lfs", "pool_list", name], QUICK_S).stdout for name in names}
    return {
        name: [line.strip().partition("_UUID")[0] for line in text.splitlines()[1:]]
        for name, text in members.items()
    }


def _pool(name: str, members: Sequence[str], targets: Mapping[str, TargetSpace]) -> TargetSpace:
    """Return a pool as one target: the sum of its active OSTs, if all of them are known."""
    own = [targets[member] for member in members if member in targets]
    whole = whole_of(own)
    if whole:
        return TargetSpace(name, POOL, whole)
    silent = next((target.name for target in own if not (target.inactive or target.space)), "")
    trouble = f"{silent} is not known" if silent else "it has no active OST"
    return TargetSpace(name, POOL, trouble=trouble)


class _Look(NamedTuple):
    """Usages that ``lfs df`` and ``lfs df -i`` list by target, and the reasons for the others."""

    space: Mapping[str, Usage]
    inodes: Mapping[str, Usage]
    errors: Mapping[str, str]
    silence: str

    def target(self, name: str, kind: str, state: str) -> TargetSpace:
        if state != _ACTIVE:
            return TargetSpace(
                name, kind, inactive=True, trouble=f"it is {state.lower()} on this client"
            )
        usage, inodes = self.space.get(name), self.inodes.get(name)
        if usage is None:
            return TargetSpace(name, kind, trouble=self.errors.get(name, self.silence))
        return TargetSpace(
            name, kind, _amount(usage.space), _amount(inodes and inodes.space), usage.flags
        )


def _look(run: CommandRunner, point: str) -> _Look:
    space = run(["lfs", "df", "-v", point], _DF_S)
    if _late(space):
        # the same target would hold up the second call too
        silence = f"lfs df gave no answer for it in {space.seconds:.0f} s"
        return _Look(dict(parse_usages(space.stdout)), {}, usage_errors(space.stdout), silence)
    inodes = run(["lfs", "df", "-i", point], _DF_S)
    text = space.stdout + space.stderr
    silence = "lfs df does not list it" if space.ok else complaint(space)
    return _Look(
        dict(parse_usages(space.stdout)),
        dict(parse_usages(inodes.stdout)),
        usage_errors(text),
        silence,
    )


def _late(completed: Completed) -> bool:
    return completed.timed_out or completed.hung
