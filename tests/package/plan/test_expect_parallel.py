"""Ceilings of all targets at once, worked out by hand.

The site: two servers of two 80 MB/s disks behind 125 MB/s each, and a client of 1 GB/s.
"""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.limits import Ceiling
from plumbline.model.record import Operation, Scenario
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.references import find_ceilings
from plumbline.topology.graph import build
from tests.package.sites import part, site

WRITE = (Operation.WRITE, Scenario.TOGETHER)
READ = (Operation.READ, Scenario.TOGETHER)
REREAD = (Operation.REREAD, Scenario.TOGETHER)


def ceiling(document: dict[str, Any], name: str, step: Any = WRITE, **fs: Any) -> Optional[Ceiling]:
    rules = {"clients": ["client1"], "work": "/mnt/scratch", **fs}
    topology = build(document)
    measured = assignments(topology, load({"layers": {"fs": rules}}))
    return find_ceilings(topology, measured)["fs", name, step]


@pytest.mark.parametrize("step", [WRITE, READ, REREAD])
def test_the_whole_takes_as_long_as_its_fullest_part(step: Any) -> None:
    found = ceiling(site(), "scratch", step)
    assert found == Ceiling(4 * 62.5e6, ("oss1-nic", "oss2-nic"), ("nic", "nic"))


def test_one_slow_kind_of_disk_holds_up_the_whole() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    document["parts"].append(
        {"name": "oss[1-2]-disk2", "kind": "disk", "rate": "20 MB/s", "feeds": "oss[1-2]"}
    )
    document["file_systems"][0]["targets"][0]["part"] = "oss[1-2]-disk[1-2]"
    found = ceiling(document, "scratch")
    assert found is not None
    assert (found.rate_Bps, found.limited_by) == (4 * 20e6, ("oss1-disk2", "oss2-disk2"))


def test_a_target_may_have_what_its_way_carries_when_the_others_are_done() -> None:
    found = ceiling(site(), "scratch-OST3")
    assert found == Ceiling(80e6, ("oss2-disk2",), ("disk",), even_Bps=62.5e6)


def test_several_ranks_of_a_target_share_its_way() -> None:
    found = ceiling(site(), "scratch-OST3", ranks_per_target=3)
    assert found is not None
    assert found.rate_Bps == pytest.approx(80e6)
    assert found.limited_by == ("oss2-disk2",)


def test_a_target_read_through_another_client_has_that_ones_ceiling() -> None:
    """Of two targets on one server each, client1 writes OST0 and reads what client2 has written."""
    document = site()
    document["parts"].append(
        {"name": "client2", "kind": "client", "rate": "30 MB/s", "feeds": "switch1"}
    )
    targets = document["file_systems"][0]["targets"][0]
    targets["name"], targets["subvolume"] = "scratch-OST[0-1]", "scratch-client-[0-1]"
    targets["part"] = "oss[1-2]-disk1"
    clients = {"clients": ["client1", "client2"]}
    rates = {
        (name, step): found.rate_Bps
        for name in ("scratch-OST0", "scratch-OST1")
        for step in (WRITE, READ)
        if (found := ceiling(document, name, step, **clients))
    }
    assert rates == {
        ("scratch-OST0", WRITE): 80e6,
        ("scratch-OST0", READ): 30e6,
        ("scratch-OST1", WRITE): 30e6,
        ("scratch-OST1", READ): 80e6,
    }
    whole = ceiling(document, "scratch", WRITE, **clients)
    assert whole == Ceiling(60e6, ("client2",), ("client",))


def test_without_any_rate_there_is_no_ceiling() -> None:
    document = site()
    for one in document["parts"]:
        for key in ("rate", "link", "encoding"):
            one.pop(key, None)
    assert ceiling(document, "scratch") is None
    assert ceiling(document, "scratch-OST0") is None
