"""The layers that a site measures, one file each: who asks about a layer asks its value.

A layer comes by its name from documents, records and the command line.  The names of those that
have a property stand here as well: a record may be of a layer that nobody judges, such as what a
server counts, and it has none of the properties.
"""

from __future__ import annotations

from plumbline.model.errors import DocumentError
from plumbline.model.layers.fs import FS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.net import NET
from plumbline.model.layers.ost import OST
from plumbline.model.layers.raw import RAW

LAYERS = {one.name: one for one in (OST, RAW, NET, FS)}
"""In the order in which people ask for them, and in which they are planned."""

BY_DEPTH = tuple(sorted(LAYERS.values(), key=lambda layer: layer.depth))
"""From the disk to the file system as a whole."""

ON_TARGETS = tuple(one.name for one in LAYERS.values() if one.on_targets)
SINGLE_TARGETS = tuple(one.name for one in LAYERS.values() if one.on_targets and not one.whole)
ON_DEVICES = tuple(one.name for one in LAYERS.values() if one.on_devices)
GROUPED = tuple(one.name for one in LAYERS.values() if one.grouped)
PAIRED = tuple(one.name for one in LAYERS.values() if one.paired)
WHOLE = tuple(one.name for one in LAYERS.values() if one.whole)


def layer_of(name: str) -> Layer:
    """Return a layer by its name.

    Raises:
        DocumentError: there is no such layer; the message names those that there are.
    """
    if name not in LAYERS:
        raise DocumentError(f"there is no layer {name!r:.60}; known are {', '.join(LAYERS)}")
    return LAYERS[name]
