"""The layers that a site measures, one file each: who asks about a layer asks its value.

A layer comes by its name from documents, records and the command line.
"""

from __future__ import annotations

from plumbline.model.errors import DocumentError
from plumbline.model.layers.fs import FS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.net import NET
from plumbline.model.layers.ost import OST
from plumbline.model.layers.raw import RAW
from plumbline.model.spec import ProbeSpec

_UNJUDGED = Layer(
    name="",
    noun="measurement",
    operations=(),
    scenarios=(),
    spec=ProbeSpec("", bytes=0, seconds=0.0),
    min_efficiency=0.0,
    depth=0,
    results="",
)


class Layers(dict[str, Layer]):
    """The layers by their names.

    A record may be of a layer that nobody judges, such as what a server counts: asked for by its
    name, it has none of the properties.  ``layer_of`` refuses it.
    """

    def __missing__(self, name: str) -> Layer:
        """Return the layer of what nobody judges."""
        return _UNJUDGED


LAYERS = Layers((layer.name, layer) for layer in (OST, RAW, NET, FS))
"""In the order in which people ask for them, and in which they are planned."""

BY_DEPTH = tuple(sorted(LAYERS.values(), key=lambda layer: layer.depth))
"""From the disk to the file system as a whole."""


def layer_of(name: str) -> Layer:
    """Return a layer by its name.

    Raises:
        DocumentError: there is no such layer; the message names those that there are.
    """
    if name not in LAYERS:
        raise DocumentError(f"there is no layer {name!r:.60}; known are {', '.join(LAYERS)}")
    return LAYERS[name]
