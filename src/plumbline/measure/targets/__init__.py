"""Storage targets by kind: place a probe file on each, and prove its place."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Iterator, Mapping

from plumbline.measure.targets.interface import STRIPED, Kind, Target, TargetState, osts_of
from plumbline.model.errors import DocumentError

__all__ = ["KINDS", "STRIPED", "Target", "TargetState", "osts_of", "target_for"]

_PLACES = {
    "lustre": "lustre.LUSTRE",
    STRIPED: "lustre.STRIPED_LUSTRE",
    "glusterfs": "glusterfs.GLUSTERFS",
    "directory": "directory.DIRECTORY",
    "device": "device.DEVICE",
    "server-folder": "server_folder.SERVER_FOLDER",
    "lustre-mdt": "metadata.LUSTRE_MDT",
    "directory-metadata": "metadata.DIRECTORY_METADATA",
}
"""Module and constant of each kind."""


class _Kinds(Mapping[str, Kind]):
    """Kinds by name; the module of a kind is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Kind:
        module, _, constant = _PLACES[name].partition(".")
        kind: Kind = getattr(import_module(f"{__name__}.{module}"), constant)
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


KINDS = _Kinds()
"""Kinds of targets by their names in documents."""


def target_for(description: Mapping[str, Any], component: str, fill_limit: float = 0.9) -> Target:
    """Return the target for the ``target`` of an expectation.

    ``fill_limit`` is the highest fill for writing, as a fraction.

    Raises:
        DocumentError: the kind or a key is unknown, missing or unusable.
    """
    name = description.get("kind")
    if not isinstance(name, str) or name not in _PLACES:
        names = ", ".join(sorted(KINDS))
        raise DocumentError(f"target {component} has the unknown kind {name!r}; known are {names}")
    kind = KINDS[name]
    keys = set(description) - {"kind"}
    for key in sorted(kind.must - keys):
        raise DocumentError(f"target {component} of kind {name} has no {key}; add it")
    for key in sorted(keys - kind.must - kind.may):
        names = ", ".join(sorted(kind.must | kind.may))
        raise DocumentError(
            f"target {component} of kind {name} has an unknown {key}; known: {names}"
        )
    for key in sorted(keys - {"stripe_bytes"}):
        if not isinstance(description[key], str):
            raise DocumentError(f"target {component}: {key} {description[key]!r} is not a text")
    return kind.make(description, component, fill_limit)
