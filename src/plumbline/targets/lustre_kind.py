"""Lustre as a kind of target: a target is an OST, and a file's layout names those that hold it."""

from __future__ import annotations

from plumbline.errors import UsageError
from plumbline.model.command import CommandRunner
from plumbline.targets.kind import Descriptions, Holder, Keys, Kind, elsewhere, on_any, shown
from plumbline.targets.lustre import LustreTarget
from plumbline.targets.lustre_output import parse_objects
from plumbline.targets.mounts import Mount
from plumbline.targets.query import ask


def _make(keys: Keys, component: str, fill_limit: float) -> LustreTarget:
    return LustreTarget(keys["mount"], _ost(keys, component), component, fill_limit)


def _ost(keys: Keys, component: str) -> str:
    return str(keys.get("ost", component))


def _find(run: CommandRunner, path: str, mount: Mount, known: Descriptions) -> tuple[Holder, ...]:
    file_system = mount.source.partition(":/")[2].partition("/")[0]
    osts = {_ost(one, name): name for name, one in known.items() if one["kind"] == LUSTRE.name}
    if not any(ost.startswith(f"{file_system}-OST") for ost in osts):
        raise elsewhere(path, mount)
    # yaml does not print the path, which could look like a layout
    objects = parse_objects(ask(run, ["lfs", "getstripe", "-d", "-y", path]))
    if objects is None:
        raise on_any(path)
    if objects.released:
        raise UsageError(
            f"{shown(path)} is released: its data lies in the archive and on no OST; "
            "bring it back with lfs hsm_restore"
        )
    if not objects.indices:
        raise UsageError(
            f"{shown(path)} has no data on any OST: it is empty, or so small that it lies with "
            "its metadata"
        )
    names = [f"{file_system}-OST{index:04x}" for index in objects.indices]
    return tuple(Holder(name, osts.get(name, "")) for name in names)


LUSTRE = Kind(
    "lustre",
    frozenset({"mount"}),
    frozenset({"ost"}),
    _make,
    mounted="lustre",
    find=_find,
    everywhere=True,
    counted=lambda keys, component: (_ost(keys, component),),
)
