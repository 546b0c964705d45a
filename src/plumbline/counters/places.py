"""Where Lustre counts: folders with one for each target or mount, and files of the whole host."""

from __future__ import annotations

import re
from typing import Callable, Iterator, Mapping, NamedTuple, Optional

from plumbline.counters.disk_io import disk_io
from plumbline.counters.lnet import buffers, interfaces, lnet_stats
from plumbline.counters.metric import Count, Labels
from plumbline.counters.recovery import recovery
from plumbline.counters.stats import stats

Parse = Callable[[str, Labels, str], Iterator[Count]]

ROOTS = ("/sys/kernel/debug/lustre", "/proc/fs/lustre")
"""By release; 2.17 has statistics of storage targets in the first, of metadata in the second."""
STORAGE = r"(?P<target>[\w.-]{1,64}-OST[0-9a-f]{4})"
METADATA = r"(?P<target>[\w.-]{1,64}-MDT[0-9a-f]{4})"
_MOUNT = r"(?P<mount>[0-9a-f]{8,16})"


class Source(NamedTuple):
    """What has a folder for each of its devices: the names of these, and the files in them.

    A device of another name, such as a metadata server's connection to an OST, is left out.
    """

    kind: str
    device: str
    files: Mapping[str, Parse]


SOURCES = (
    Source("obdfilter", STORAGE, {"stats": stats, "recovery_status": recovery}),
    Source("mdt", METADATA, {"md_stats": stats, "recovery_status": recovery}),
    Source("osd-ldiskfs", STORAGE, {"brw_stats": disk_io}),
    Source("osd-zfs", STORAGE, {"brw_stats": disk_io}),
    Source("osc", f"{STORAGE}-osc-{_MOUNT}", {"stats": stats}),
    Source("mdc", f"{METADATA}-mdc-{_MOUNT}", {"stats": stats}),
    Source("llite", rf"(?P<target>[\w.-]{{1,64}})-{_MOUNT}", {"stats": stats}),
)
_HOST: Mapping[str, Parse] = {"stats": lnet_stats, "nis": interfaces, "buffers": buffers}
_LNET = ("/sys/kernel/debug/lnet", "/proc/sys/lnet")


class Place(NamedTuple):
    """A file that is read, how, and the labels of what it counts."""

    path: str
    parse: Parse
    labels: Labels


def folders() -> list[str]:
    """Return the folders that may have devices in them."""
    return [f"{root}/{source.kind}" for source in SOURCES for root in ROOTS]


def places(found: Mapping[str, str]) -> Iterator[Place]:
    """Yield what is to be read; ``found`` are the names in each folder that is there, by line."""
    for source in SOURCES:
        for root in ROOTS:
            folder = f"{root}/{source.kind}"
            for name in found.get(folder, "").split("\n"):
                labels = _labels(source, name)
                for file, parse in source.files.items() if labels else ():
                    yield Place(f"{folder}/{name}/{file}", parse, labels or ())
    for folder in _LNET:
        for file, parse in _HOST.items():
            yield Place(f"{folder}/{file}", parse, ())


def _labels(source: Source, name: str) -> Optional[Labels]:
    match = re.fullmatch(source.device, name, re.ASCII)
    return (("source", source.kind), *match.groupdict().items()) if match else None
