"""Layers that a site measures, one file each, found by the names in documents and records.

Other modules use the properties of a layer and never compare its name.
"""

from __future__ import annotations

from plumbline.model.errors import DocumentError
from plumbline.model.layers.fs import FS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.mdt import MDT
from plumbline.model.layers.net import NET
from plumbline.model.layers.oss import OSS
from plumbline.model.layers.ost import OST
from plumbline.model.layers.raw import RAW
from plumbline.model.layers.rdma import RDMA
from plumbline.model.layers.shared import SHARED
from plumbline.model.spec import ProbeSpec

_NOT_JUDGED = Layer(
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
    """Layers by name.

    Records may have a layer that is not judged, such as the counters of a server: looking it up
    returns a layer without any of the properties.  ``layer_of`` refuses it.
    """

    def __missing__(self, name: str) -> Layer:
        """Return the layer of records that are not judged."""
        return _NOT_JUDGED


LAYERS = Layers((layer.name, layer) for layer in (OST, RAW, NET, FS, MDT, OSS, SHARED, RDMA))
"""Layers in the order of planning and of listings."""

BY_DEPTH = tuple(sorted(LAYERS.values(), key=lambda layer: layer.depth))
"""Layers from the disk to the file system."""


def layer_of(name: str) -> Layer:
    """Return a layer by its name.

    Raises:
        DocumentError: there is no such layer; the message lists the layers.
    """
    if name not in LAYERS:
        raise DocumentError(f"there is no layer {name!r:.60}; known are {', '.join(LAYERS)}")
    return LAYERS[name]
