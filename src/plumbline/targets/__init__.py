"""How a probe file is put on one storage target, and how that is proven."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from plumbline.errors import DocumentError
from plumbline.model.printed import whole
from plumbline.targets.device import DeviceTarget
from plumbline.targets.directory import DirectoryTarget
from plumbline.targets.glusterfs import GlusterfsTarget
from plumbline.targets.interface import Target, TargetState
from plumbline.targets.lustre import LustreTarget
from plumbline.targets.lustre_striped import StripedLustreTarget

__all__ = ["STRIPED", "Target", "TargetState", "osts_of", "target_for"]

_Maker = Callable[[Mapping[str, Any], str, float], Target]

STRIPED = "lustre-striped"
"""Several OSTs at once: ``osts`` are their names with commas between them."""

_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "lustre": ({"mount"}, {"ost"}),
    STRIPED: ({"mount", "osts", "stripe_bytes"}, set()),
    "glusterfs": ({"mount", "subvolume"}, {"brick"}),
    "directory": ({"directory"}, {"source"}),
    "device": ({"device"}, {"block_size"}),
}
"""What each kind must and may be told."""

_MAKERS: dict[str, _Maker] = {
    "lustre": lambda keys, name, limit: LustreTarget(
        keys["mount"], keys.get("ost", name), name, limit
    ),
    STRIPED: lambda keys, name, limit: StripedLustreTarget(
        (keys["mount"], _stripe_bytes(keys, name)), osts_of(keys), name, limit
    ),
    "glusterfs": lambda keys, name, limit: GlusterfsTarget(
        keys["mount"], (keys["subvolume"], keys.get("brick", "")), name, limit
    ),
    "directory": lambda keys, name, limit: DirectoryTarget(
        keys["directory"], keys.get("source", ""), name, limit
    ),
    "device": lambda keys, _name, _limit: DeviceTarget(keys["device"]),
}


def osts_of(description: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the OSTs that one file is striped over; none of a target that stands for itself."""
    return tuple(description["osts"].split(",")) if description.get("kind") == STRIPED else ()


def _stripe_bytes(keys: Mapping[str, Any], name: str) -> int:
    return whole(str(keys["stripe_bytes"]), f"stripe_bytes of target {name}", DocumentError)


def target_for(description: Mapping[str, Any], component: str, fill_limit: float = 0.9) -> Target:
    """Return the target that an expectation's ``target`` describes.

    ``fill_limit`` is the fraction above which nothing is written to it.

    Raises:
        DocumentError: the kind or a key is unknown, missing or not usable.
    """
    kind = description.get("kind")
    if kind not in _KEYS:
        known = ", ".join(sorted(_KEYS))
        raise DocumentError(f"target {component} has the unknown kind {kind!r}; known are {known}")
    must, may = _KEYS[kind]
    given = set(description) - {"kind"}
    for key in sorted(must - given):
        raise DocumentError(f"target {component} of kind {kind} has no {key}; add it")
    for key in sorted(given - must - may):
        known = ", ".join(sorted(must | may))
        raise DocumentError(
            f"target {component} of kind {kind} has an unknown {key}; known: {known}"
        )
    for key in sorted(given - {"block_size", "stripe_bytes"}):
        if not isinstance(description[key], str):
            raise DocumentError(f"target {component}: {key} {description[key]!r} is not a text")
    return _MAKERS[kind](description, component, fill_limit)
