"""Parts of a site: the measurements in which a loss of a third shows, and why it shows in none."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.doors.exposure import shown_in
from plumbline.plan.assignments import assignments
from plumbline.plan.exposure import Exposure, Way, exposures, folded, seldom_shown
from plumbline.plan.policy import load
from plumbline.site.inventory import read_inventory, topology_of
from plumbline.topology.graph import build
from tests.package.sites import parts
from tests.project.repository import ROOT

DAY_S = 86_400.0


def of_inventory(name: str) -> list[Exposure]:
    inventory = read_inventory(str(ROOT / "inventories" / name))
    topology = topology_of(inventory)
    return list(exposures(topology, assignments(topology, load(inventory.policy))))


def array(**changes: Any) -> list[dict[str, Any]]:
    """Return a controller between two servers and their four disks; ``changes`` are to it."""
    return [
        {"name": "switch", "kind": "switch"},
        {"name": "oss[1-2]", "kind": "server", "feeds": "switch"},
        {"name": "oss[1-2]-hba", "kind": "hba", "rate": "500 MB/s", "feeds": "oss[1-2]"},
        {"name": "ctl", "kind": "controller", "rate": "800 MB/s", "feeds": "oss[1-2]-hba"}
        | changes,
        {
            "name": "oss[1-2]-disk[1-2]",
            "kind": "disk",
            "rate": "200 MB/s",
            "device": "/dev/{name}",
            "feeds": "ctl",
            "through": "oss[1-2]-hba",
        },
    ]


def exposed(part: str, *entries: dict[str, Any], **document: Any) -> Exposure:
    topology = build(parts(*entries, **document))
    found = exposures(topology, assignments(topology, load({})))
    return next(item for item in found if item.part.name == part)


# The way in which a part is asked for more than two thirds of its rate.


def test_a_controller_of_two_servers_is_exposed_by_the_fewest_disks_that_ask_for_its_rate() -> None:
    whole = exposed("ctl", *array())
    assert (whole.way, whole.sum_Bps) == (Way.TOGETHER, 800e6)
    assert [flow.component for flow in whole.flows] == [
        "oss1-disk1",
        "oss2-disk1",
        "oss1-disk2",
        "oss2-disk2",
    ]
    assert whole.nodes == ("oss1", "oss2")
    slower = exposed("ctl", *array(rate="550 MB/s"))
    assert [flow.component for flow in slower.flows] == ["oss1-disk1", "oss2-disk1", "oss1-disk2"]


@pytest.mark.parametrize(
    ("rate", "way"),
    [
        ("260 MB/s", Way.ALONE),
        ("280 MB/s", Way.SERVER),
        ("530 MB/s", Way.SERVER),
        ("560 MB/s", Way.TOGETHER),
        ("1070 MB/s", Way.TOGETHER),
        ("1090 MB/s", Way.NOTHING),
    ],
)
def test_flows_must_ask_for_three_quarters_of_a_part(rate: str, way: Way) -> None:
    assert exposed("ctl", *array(rate=rate)).way is way


def test_reads_are_limited_by_other_parts_of_their_paths() -> None:
    adapters = [
        entry | ({"rate": "250 MB/s"} if entry["kind"] == "hba" else {}) for entry in array()
    ]
    found = exposed("ctl", *adapters)
    assert (found.way, found.reason) == (
        Way.NOTHING,
        "its 4 devices give 500.0 MB/s, 62 % of its rate, at once",
    )


def test_a_part_behind_which_nothing_else_has_a_rate_is_exposed_by_one_read() -> None:
    bare = [{key: value for key, value in entry.items() if key != "rate"} for entry in array()]
    bare[3]["rate"] = "800 MB/s"
    assert exposed("ctl", *bare).way is Way.ALONE


def test_a_part_without_a_rate_is_not_listed() -> None:
    topology = build(parts(*array()))
    names = [item.part.name for item in exposures(topology, assignments(topology, load({})))]
    assert "switch" not in names
    assert len(names) == 7


def client(rate: str, targets: str) -> dict[str, Any]:
    return {
        "file_systems": [
            {
                "name": "scratch",
                "kind": "lustre",
                "mount": "/scratch",
                "client": "client1",
                "targets": [{"name": f"scratch-OST[0000-{targets}]", "part": "oss[01-20]-disk"}],
            }
        ],
        "parts": [
            {"name": "switch", "kind": "switch"},
            {"name": "client1", "kind": "client", "rate": rate, "feeds": "switch"},
            {"name": "oss[01-20]", "kind": "server", "feeds": "switch"},
            {
                "name": "oss[01-20]-disk",
                "kind": "disk",
                "rate": "100 MB/s",
                "feeds": "oss[01-20]",
            },
        ],
    }


def of_client(rate: str) -> Exposure:
    document = client(rate, "0013")
    return exposed("client1", *document["parts"], file_systems=document["file_systems"])


def test_a_client_is_exposed_by_targets_that_it_reads_at_once() -> None:
    found = of_client("800 MB/s")
    assert (found.way, len(found.flows), found.nodes) == (Way.TOGETHER, 8, ("client1",))
    assert {flow.layer for flow in found.flows} == {"ost"}


def test_a_client_reads_sixteen_targets_at_once_and_no_more() -> None:
    found = of_client("10 GB/s")
    assert (found.way, found.reason) == (
        Way.NOTHING,
        "16 of its 20 targets give 1600.0 MB/s, 16 % of its rate, at once",
    )


def test_a_part_that_no_measurement_crosses_says_so() -> None:
    lone = {"name": "client2", "kind": "client", "rate": "1 GB/s", "feeds": "switch"}
    found = exposed("client2", *array(), lone)
    assert (found.way, found.reason) == (Way.NOTHING, "no measurement crosses it")


def network(rate: str) -> tuple[dict[str, Any], ...]:
    """Return a switch of forty hosts."""
    return (
        {"name": "core", "kind": "switch", "rate": rate},
        {
            "name": "node[01-40]",
            "kind": "client",
            "rate": "1 GB/s",
            "address": "10.0.0.[1-40]",
            "feeds": "core",
        },
    )


def test_hosts_in_pairs_expose_their_own_links() -> None:
    assert exposed("node07", *network("10 GB/s")).way is Way.ALONE


def test_all_pairs_of_a_slot_expose_the_switch_of_many() -> None:
    # twenty pairs at once ask for 20 GB/s
    core = exposed("core", *network("10 GB/s"))
    assert (core.way, core.sum_Bps) == (Way.ROUNDS, 10e9)
    assert shown_in(core).startswith("all pairs of a slot, tested at once")
    assert exposed("core", *network("26 GB/s")).way is Way.ROUNDS
    wide = exposed("core", *network("28 GB/s"))
    assert (wide.way, wide.reason) == (
        Way.NOTHING,
        "the pairs of a slot give 20.0 GB/s, 71 % of its rate, at once",
    )


# The sites of the inventories.


@pytest.mark.slow
def test_the_sites_of_the_inventories() -> None:
    rows = {
        name: [
            (each.number, each.among, each.example.way.value, len(each.example.flows))
            for each in folded(of_inventory(name))
            if each.example.way not in (Way.ALONE,)
        ]
        for name in ("example", "redstorm", "edison", "jaguar", "bgl")
    }
    assert rows == {
        "example": [
            (24, "oss[01-24]-hba", "server", 0),
            (12, "array[1-6]-controller[1-2]", "together", 4),
        ],
        "redstorm": [
            (1, "mesh", "nothing", 0),
            (160, "oss[001-160]-link", "nothing", 0),
            (40, "ddn[01-40]a-data", "together", 4),
            (40, "ddn[01-40]b-data", "together", 4),
            (160, "ddn[01-40]a-lun[1-4]", "nothing", 0),
            (160, "ddn[01-40]b-lun[1-4]", "nothing", 0),
            (1, "login[1-32]", "together", 11),
            (31, "login[1-32]", "nothing", 0),
        ],
        "edison": [(1, "login1", "together", 3), (8, "nid[00001-00008]", "nothing", 0)],
        "jaguar": [(1, "login[1-40]", "together", 5), (39, "login[1-40]", "nothing", 0)],
        "bgl": [
            (5, "switch[1-5]", "rounds", 0),
            (1, "switch6", "nothing", 0),
            (1, "card[01-40]", "nothing", 0),
            (39, "card[01-40]", "nothing", 0),
            (1, "card[41-43]", "nothing", 0),
            (2, "card[41-43]", "nothing", 0),
            (1, "server-switches", "nothing", 0),
            (224, "oss[001-224]", "nothing", 0),
            (224, "oss[001-224]-fc", "nothing", 0),
            (28, "ddn[01-28]", "nothing", 0),
        ],
    }


def test_the_four_ports_of_a_controller_are_driven_by_four_nodes_as_in_the_paper() -> None:
    (channel,) = (item for item in of_inventory("redstorm") if item.part.name == "ddn05a-data")
    assert channel.nodes == ("oss017", "oss018", "oss019", "oss020")
    assert [flow.component for flow in channel.flows] == [
        f"ddn05a-lun{number}" for number in (1, 2, 3, 4)
    ]
    flows = channel.to_json()["flows"]
    assert isinstance(flows, list)
    assert flows[0] == ("oss017", "raw", "ddn05a-lun1")


def test_a_loss_that_only_weekly_reads_at_once_show_is_noted_beforehand() -> None:
    found = of_inventory("example")
    (note,) = seldom_shown(found, {"raw": 7 * DAY_S})
    assert note == (
        "raw reads all devices of a server at once every 7 d, and only that shows a loss of "
        "oss01-hba and 23 more: an alarm takes about 4 low runs, 28 d; read them every 3 days "
        "to have it within two weeks"
    )
    assert [*seldom_shown(found, {"raw": 3 * DAY_S})] == []
    assert [*seldom_shown(of_inventory("edison"), {"raw": 7 * DAY_S})] == []


def test_a_loss_of_a_lone_shared_part_is_noted_if_its_turns_are_rare() -> None:
    found = of_inventory("edison")
    (note,) = seldom_shown(found, {"raw": DAY_S, "shared": 2 * DAY_S})
    assert note == (
        "shared reads login1 every 2 d, and no other part of its kind and rate shows whether a "
        "night is busy: an alarm may take about 9 low runs, 18 d; read every night to have it "
        "within two weeks"
    )
    assert [*seldom_shown(found, {"shared": DAY_S})] == []
    # its controllers are peers
    assert [*seldom_shown(of_inventory("example"), {"shared": 2 * DAY_S})] == []
    # the layer is off
    assert [*seldom_shown(found, {"raw": DAY_S})] == []
