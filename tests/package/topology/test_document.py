"""The topology document: valid parts and file systems, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.document import Part, Zone, load
from plumbline.topology.strict import parse
from tests.package.sites import part, site


def capacity(**keys: Any) -> tuple[Any, Any]:
    return parse(Part, {"name": "x", "kind": "disk", **keys}, "parts").capacity()


@pytest.mark.parametrize(
    ("keys", "read_MBps", "write_MBps"),
    [
        ({"rate": "200 MB/s"}, 200, 200),
        ({"rate": "66 MB/s", "count": 8}, 528, 528),
        ({"read": "800 MB/s", "write": "1.2 GB/s"}, 800, 1200),
        ({"link": "2 Gbit/s", "encoding": "8b/10b"}, 200, 200),
        ({"link": "10 Gbit/s", "encoding": "none"}, 1250, 1250),
        ({"link": "56.25 Gbit/s", "encoding": "64b/66b"}, 6818.18, 6818.18),
        ({"link": "8 Gbit/s", "encoding": "128b/130b", "count": 16}, 15753.85, 15753.85),
        # IEEE 802.3 and TCP without options: 1460 of 1538 bytes
        ({"link": "1 Gbit/s", "encoding": "none", "mtu": 1500}, 118.66, 118.66),
        # a shaper counts 1514 bytes, 1448 of them payload
        (
            {"link": "1 Gbit/s", "encoding": "none", "mtu": 1500, "framing": "shaped"},
            119.55,
            119.55,
        ),
    ],
)
def test_the_capacity_of_a_part_follows_from_its_speed(
    keys: dict[str, Any], read_MBps: float, write_MBps: float
) -> None:
    assert capacity(**keys) == pytest.approx((read_MBps * 1e6, write_MBps * 1e6), rel=1e-4)


@pytest.mark.parametrize(
    ("zone", "rate_MBps"), [(Zone.FASTEST, 624), (Zone.AVERAGE, 528), (Zone.SLOWEST, 344)]
)
def test_a_disk_is_slower_on_its_inner_tracks(zone: Zone, rate_MBps: float) -> None:
    drives = {"name": "x", "kind": "disk", "count": 8, "rate": "78 MB/s"}
    both = parse(Part, {**drives, "average": "66 MB/s", "slowest": "43 MB/s"}, "parts")
    assert both.capacity(zone) == (rate_MBps * 1e6, rate_MBps * 1e6)
    assert parse(Part, drives, "parts").capacity(zone) == (624e6, 624e6)


def test_a_part_without_a_speed_never_limits() -> None:
    assert capacity() == (None, None)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"rate": "1 GB/s", "link": "8 Gbit/s", "encoding": "none"}, "give the speed once"),
        ({"rate": "1 GB/s", "read": "1 GB/s", "write": "1 GB/s"}, "give the speed once"),
        ({"slowest": "43 MB/s"}, "average and slowest go with rate, which is the fastest"),
        (
            {"read": "1 GB/s", "write": "1 GB/s", "average": "1 GB/s"},
            "average and slowest go with rate",
        ),
        (
            {"rate": "78 MB/s", "average": "80 MB/s"},
            "slowest is at most average, and both at most rate",
        ),
        (
            {"rate": "78 MB/s", "average": "43 MB/s", "slowest": "66 MB/s"},
            "slowest is at most average",
        ),
        ({"read": "1 GB/s"}, "read and write belong together"),
        (
            {"link": "4 GB/s", "encoding": "none"},
            "'4 GB/s' counts bytes, and the speed of a link counts bits; write 4 Gbit/s if that "
            "was meant, or rate: 4 GB/s without encoding for what the part carries",
        ),
        ({"rate": None}, "the key 'rate' is left empty; write a value, or remove it"),
        ({"link": "8 Gbit/s"}, "link and encoding belong together; encoding is one of none"),
        ({"rate": "8 GB/s", "encoding": "8b/10b"}, "link and encoding belong together"),
        ({"link": "8 Gbit/s", "encoding": "4b/5b"}, "'4b/5b' is no known line encoding; write"),
        ({"rate": "1 GB/s", "mtu": 1500}, "give link and encoding too"),
        ({"link": "8 Gbit/s", "encoding": "none", "framing": "shaped"}, "give mtu too"),
        ({"rate": "0 GB/s"}, "'0 GB/s' is not above zero"),
        ({"rate": "-1 GB/s"}, "'-1 GB/s' is not above zero"),
        ({"rate": float("nan")}, "nan is no text with a unit"),
        ({"count": 10**6}, "less than or equal to 100000"),
        ({"rate": "1 B/s"}, "'1 B/s' is slower than any part of a storage system; write at least"),
        ({"link": "1 kbit/s", "encoding": "none"}, "'1 kbit/s' is slower than any part"),
        ({"count": 0}, "greater than or equal to 1, not 0"),
        ({"kind": "floppy"}, "input should be 'client', 'server'"),
        ({"address": "10.0.0.1"}, "a disk has no address; give it to its server or client"),
        ({"kind": "server", "device": "/dev/sda"}, "a server is no device; give it to its disks"),
        ({"fedes": "x"}, "the key 'fedes' is unknown; did you mean 'feeds'"),
    ],
)
def test_an_impossible_part_is_refused(keys: dict[str, Any], sentence: str) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    part(document, "oss[1-2]-disk[1-2]").pop("device")
    part(document, "oss[1-2]-disk[1-2]").update(keys)
    with pytest.raises(DocumentError) as caught:
        load(document)
    assert str(caught.value).startswith("plumbline_topology: parts 'oss[1-2]-disk[1-2]'")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"kind": "zfs"},
            "file_systems 'scratch': the kind 'zfs' is unknown; write one of 'lustre'",
        ),
        ({"kind": "lustre"}, "the key 'subvolume' is unknown"),
        ({"kind": "directory"}, "the key 'mount' is unknown"),
        ({"mount": None}, "the key 'mount' is left empty; write a value"),
    ],
)
def test_a_file_system_has_the_keys_of_its_kind(change: dict[str, Any], sentence: str) -> None:
    document = site()
    document["file_systems"][0].update(change)
    with pytest.raises(DocumentError) as caught:
        load(document)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("raw", [None, {}, []])
def test_an_empty_topology_is_refused_with_the_remedy(raw: Any) -> None:
    with pytest.raises(DocumentError, match=r"describe the site's parts as in docs/topology\.md"):
        load(raw)


def test_a_file_system_without_kind_is_named() -> None:
    document = site()
    del document["file_systems"][0]["kind"]
    with pytest.raises(DocumentError, match="file_systems 'scratch': the key 'kind' is missing"):
        load(document)


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(DocumentError, match="schema: input should be 1, not 2"):
        load({**site(), "schema": 2})


def test_only_lustre_counts_in_hexadecimal() -> None:
    document = site()
    assert len(load(document).file_systems[0].expand("t-OST[0000-0010]")) == 11
    lustre = document["file_systems"][0]
    lustre.update(kind="lustre")
    del lustre["targets"][0]["subvolume"]
    assert len(load(document).file_systems[0].expand("t-OST[0000-0010]")) == 17
