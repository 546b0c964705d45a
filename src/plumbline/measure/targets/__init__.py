"""Storage targets by kind: place a probe file on each, and prove its place."""

from __future__ import annotations

from typing import Any, Mapping

from plumbline.measure.targets.device import DEVICE
from plumbline.measure.targets.directory import DIRECTORY
from plumbline.measure.targets.glusterfs import GLUSTERFS
from plumbline.measure.targets.interface import Target, TargetState
from plumbline.measure.targets.lustre import LUSTRE, STRIPED, osts_of
from plumbline.measure.targets.metadata import DIRECTORY_METADATA, LUSTRE_MDT
from plumbline.measure.targets.server_folder import SERVER_FOLDER
from plumbline.model.errors import DocumentError

__all__ = ["KINDS", "STRIPED", "Target", "TargetState", "osts_of", "target_for"]

_METADATA = (LUSTRE_MDT, DIRECTORY_METADATA)
_OTHERS = (SERVER_FOLDER, *_METADATA)
KINDS = {kind.name: kind for kind in (LUSTRE, STRIPED, GLUSTERFS, DIRECTORY, DEVICE, *_OTHERS)}
"""Kinds of targets by their names in documents."""


def target_for(description: Mapping[str, Any], component: str, fill_limit: float = 0.9) -> Target:
    """Return the target for the ``target`` of an expectation.

    ``fill_limit`` is the highest fill for writing, as a fraction.

    Raises:
        DocumentError: the kind or a key is unknown, missing or unusable.
    """
    name = description.get("kind")
    if name not in KINDS:
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
