"""One line for each ceiling: alone, together, all at once."""

from __future__ import annotations

from typing import Any

from plumbline.model.limits import Ceiling
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.references import Line, at_once, measurements, pairs
from plumbline.topology.ceiling import Limit
from plumbline.topology.graph import build
from tests.package.sites import part, site


def measured(document: dict[str, Any]) -> list[Line]:
    topology = build(document)
    return list(measurements(topology, assignments(topology, load({}))))


def shared(document: dict[str, Any]) -> dict[tuple[str, str], Line]:
    return {(one.component, one.operation): one for one in at_once(build(document))}


def one_way_arrays() -> dict[str, Any]:
    document = site()
    disks = part(document, "oss[1-2]-disk[1-2]")
    disks.pop("rate")
    disks.update(read="80 MB/s", write="60 MB/s")
    return document


def test_each_measurement_has_its_limit_and_the_next() -> None:
    found = {(one.component, one.operation, one.scenario): one for one in measured(site())}
    alone = found["scratch-OST0", "write", "single"]
    nic = Ceiling(125e6, ("oss1-nic",))
    assert alone.limit == Limit(Ceiling(80e6, ("oss1-disk1",)), nic)
    assert (alone.flows, alone.number, alone.each_Bps) == ("one", 1, (80e6, 80e6))
    assert found["oss2-disk1", "read", "together"].limit == Limit(
        Ceiling(80e6, ("oss2-disk1",)), None
    )
    assert found["oss1", "send", "single"].limit == Limit(nic, None)


def test_devices_together_have_the_next_limit_of_their_group() -> None:
    document = site()
    document["parts"].insert(
        3, {"name": "oss[1-2]-hba", "kind": "hba", "feeds": "oss[1-2]", "rate": "100 MB/s"}
    )
    part(document, "oss[1-2]-disk[1-2]")["feeds"] = "oss[1-2]-hba"
    found = {(one.component, one.scenario): one for one in measured(document)}
    assert found["oss1-disk1", "together"].limit == Limit(
        Ceiling(50e6, ("oss1-hba",)), Ceiling(80e6, ("oss1-disk1",))
    )


def test_targets_at_once_share_in_each_direction_what_it_has() -> None:
    lines = shared(one_way_arrays())
    disks = ("oss1-disk1", "oss1-disk2")
    wrote, read = lines["oss1", "write"], lines["oss1", "read"]
    assert wrote.limit == Limit(Ceiling(120e6, disks), Ceiling(125e6, ("oss1-nic",)))
    assert read.limit == Limit(Ceiling(125e6, ("oss1-nic",)), Ceiling(160e6, disks))
    assert (wrote.each_Bps, read.each_Bps) == ((60e6, 60e6), (62.5e6, 62.5e6))
    assert (read.layer, read.flows, read.number, read.scenario) == ("ost", "targets", 2, "together")
    whole = lines["scratch", "read"]
    assert (whole.number, whole.scenario) == (4, "all")
    assert whole.limit == Limit(
        Ceiling(250e6, ("oss1-nic", "oss2-nic")),
        Ceiling(320e6, (*disks, "oss2-disk1", "oss2-disk2")),
    )


def test_the_client_does_not_limit_what_runs_at_once() -> None:
    document = site()
    part(document, "client1")["rate"] = "10 MB/s"
    lines = shared(document)
    assert lines["scratch", "write"].limit == shared(site())["scratch", "write"].limit


def test_a_server_sends_what_storage_reads_and_a_client_what_it_writes() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    for name in ("client1", "client2", "oss[1-2]-nic"):
        host = part(document, name)
        for key in ("rate", "link", "encoding"):
            host.pop(key, None)
        host.update(read="90 MB/s", write="70 MB/s")
    lines = shared(document)
    sums = {
        key: one.limit.ceiling.rate_Bps
        for key, one in lines.items()
        if key[0] != "oss1" and one.limit
    }
    assert sums["servers", "send"] == sums["clients", "receive"] == 180e6
    assert sums["servers", "receive"] == sums["clients", "send"] == 140e6


def test_a_sum_is_unknown_while_a_flow_has_no_part_with_a_rate() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    nic = part(document, "oss[1-2]-nic")
    nic.pop("link"), nic.pop("encoding")
    line = shared(document)["scratch", "read"]
    assert (line.limit, line.each_Bps) == (None, None)
    assert line.to_json()["rate_Bps"] is None


def test_a_pair_of_hosts_is_there_once() -> None:
    document = site()
    part(document, "client1").update(address="10.0.0.9", rate="100 MB/s")
    topology = build(document)
    found = list(pairs(topology, assignments(topology, load({}))))
    assert [(one.component, one.partner) for one in found] == [
        ("client1", "oss1"),
        ("client1", "oss2"),
        ("oss1", "oss2"),
    ]
    assert found[0].limit == Limit(Ceiling(100e6, ("client1",)), Ceiling(125e6, ("oss1-nic",)))
    assert found[2].path == ("oss1", "oss1-nic", "switch1", "oss2-nic", "oss2")
