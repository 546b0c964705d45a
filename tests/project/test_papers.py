"""All theoretical figures of the papers follow from the inventories of their machines."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Callable, NamedTuple

import pytest

from plumbline.model.limits import Baseline
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import Key, read_baselines, write_baselines
from plumbline.plan.policy import limits_of
from plumbline.plan.policy import load as load_policy
from plumbline.plan.references import Line, at_once, measurements, with_demonstrated
from plumbline.plan.speeds import speeds
from plumbline.topology.ceiling import Capacities, together
from plumbline.topology.document import Zone, load
from plumbline.topology.graph import Topology, build
from plumbline.topology.names import expand
from plumbline.topology.paths import storage_side
from tests.package.recorded import table
from tests.package.sites import inventory_document
from tests.project.repository import ROOT

MB = 1e6
GB = 1e9
FASTEST = Zone.FASTEST


MACHINES = ("redstorm", "edison", "bgl", "jaguar")


@cache
def site(machine: str, zone: Zone = FASTEST) -> Topology:
    return build(inventory_document(machine), zone)


@cache
def lines(machine: str, zone: Zone = FASTEST) -> tuple[Line, ...]:
    """Return the lines of ``plumbline ceiling`` for a machine."""
    topology = site(machine, zone)
    measured = assignments(topology, load_policy({}))
    return (*measurements(topology, measured), *at_once(topology))


def line(machine: str, component: str, operation: str, zone: Zone = FASTEST) -> Line:
    (match,) = (
        row
        for row in lines(machine, zone)
        if (row.component, row.operation) == (component, operation) and row.layer != "raw"
    )
    return match


def rate(machine: str, component: str, operation: str) -> float:
    """Return the total rate of a line's flows."""
    limit = line(machine, component, operation).limit
    assert limit is not None
    return limit.ceiling.rate


def flow_rate(machine: str, component: str, operation: str) -> float:
    """Return the rate of each flow of a line."""
    rates = line(machine, component, operation).each_Bps
    assert rates is not None
    assert rates[0] == pytest.approx(rates[1])
    return rates[0]


def following(machine: str, component: str, zone: str) -> float:
    """Return the next limit of a single path to a zone of the disks."""
    limit = line(machine, component, "write", Zone(zone)).limit
    assert limit is not None
    assert limit.next is not None
    return limit.next.rate


def part(machine: str, name: str) -> float:
    """Return the rate of a part towards storage."""
    written = site(machine).components[name].write_Bps
    assert written is not None
    return written


def one_of(machine: str, name: str) -> float:
    """Return the write rate of one of the equal units in a part."""
    (calculate,) = (
        entry for entry in load(inventory_document(machine)).parts if name in expand(entry.name)
    )
    written = calculate.capacity()[1]
    assert written is not None
    return written / calculate.count


def shared(machine: str, flows: int, capacity: str, name: str) -> float:
    """Return the rate of one of several flows through a part, or through one of its units."""
    capacity_Bps = CALCULATIONS[capacity](machine, name)
    limit = together({"part": capacity_Bps}, {str(flow): ["part"] for flow in range(flows)})["0"]
    assert limit is not None
    return limit.ceiling.rate


def total(capacities: Capacities, paths: dict[str, tuple[str, ...]]) -> float:
    limits = together(capacities, paths).values()
    return sum(limit.ceiling.rate for limit in limits if limit)


def with_ports(machine: str, rate_MBps: float, number: int = 320) -> float:
    """Return the total of targets if each controller port gives this rate of its 200 MB/s."""
    topology = site(machine)
    ports = {
        name: rate_MBps * MB for name, part in topology.components.items() if part.kind == "port"
    }
    paths = {
        target.name: storage_side(topology, target)
        for target in list(topology.targets.values())[:number]
    }
    return total({**speeds(topology).writes, **ports}, paths)


def with_couplet(machine: str, rate_MBps: float) -> float:
    """Return the share of a port if a couplet of two controllers has a limit of its own."""
    topology = site(machine)
    paths = {
        target.name: ("couplet", *storage_side(topology, target))
        for target in topology.targets.values()
        if target.on.startswith(("ddn01a", "ddn01b"))
    }
    assert len(paths) == 8
    return total({**speeds(topology).writes, "couplet": rate_MBps * MB}, paths) / 8


def first_targets(machine: str, file_system: str, targets: int) -> float:
    """Return the total of the first targets of a file system."""
    topology = site(machine)
    own = [target for target in topology.targets.values() if target.file_system == file_system]
    paths = {target.name: storage_side(topology, target) for target in own[:targets]}
    return total(speeds(topology).writes, paths)


def first_nodes(machine: str, per_card: int, cards: int) -> float:
    """Return the total rate of the first nodes of the first line cards."""
    topology = site(machine)
    numbers = [24 * card + node + 1 for card in range(cards) for node in range(per_card)]
    paths = {f"io{number:04d}": topology.routes[f"io{number:04d}"][0] for number in numbers}
    return total(speeds(topology).writes, paths)


CALCULATIONS: dict[str, Callable[..., float]] = {
    "part": part,
    "unit": one_of,
    "rate": rate,
    "each": flow_rate,
    "next": following,
    "flows": shared,
    "ports": with_ports,
    "couplet": with_couplet,
    "first_targets": first_targets,
    "nodes": first_nodes,
}


class Case(NamedTuple):
    """A figure of a paper, its place in plumbline, and its calculation from the inventory."""

    place: str
    figure: str
    shown: str
    expected_MBps: float
    calculation: tuple[Any, ...]


CASES = {machine: [Case(*row) for row in rows] for machine, rows in table("papers.yml").items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "case"),
    [
        pytest.param(machine, case, id=f"{machine} {case.place} {case.figure}")
        for machine, cases in CASES.items()
        for case in cases
    ],
)
def test_a_figure_of_a_paper_follows_from_the_inventory(machine: str, case: Case) -> None:
    name, *arguments = case.calculation
    assert CALCULATIONS[name](machine, *arguments) == pytest.approx(case.expected_MBps * MB)


def limited_by(machine: str, component: str, operation: str) -> tuple[str, ...]:
    limit = line(machine, component, operation).limit
    assert limit is not None
    return limit.ceiling.limited_by


def test_red_storm_is_limited_by_ports_and_with_all_four_also_by_data_channels() -> None:
    # III-A.1 "the controller port (or the HBA on the IO node) is still the throttling factor"
    ports = ("oss002-fc1", "ddn01a-fc2")
    assert limited_by("redstorm", "scratch-OST0001", "write") == ports
    # III-A.2 "the controller port, the HBA [...] or the aggregate data channel [...] (all now
    # equal) is the limiting factor"
    kinds = {name[-4:] for name in limited_by("redstorm", "ddn01a-data", "write")}
    assert kinds == {"-fc1", "-fc2", "-fc3", "-fc4", "data"}


def test_blue_gene_is_limited_by_its_arrays() -> None:
    # section 1: "The DDNs are the primary constraint on the over-all expected performance."
    arrays = {f"ddn{number:02d}" for number in range(1, 29)}
    for operation in ("write", "read"):
        assert set(limited_by("bgl", "lustre", operation)) == arrays


def test_the_headers_of_tcp_take_five_percent_of_blue_genes_network() -> None:
    raw = inventory_document("bgl")
    for entry in raw["parts"]:
        if entry.get("encoding") == "none":
            entry["mtu"] = 1500
    rates = {
        row.component: row.limit.ceiling.rate / GB
        for row in at_once(build(raw))
        if row.limit and row.component in ("clients", "switch1", "card01")
    }
    assert rates == pytest.approx({"clients": 42.7, "switch1": 7.12, "card01": 2.37}, rel=2e-3)
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    for figure in ("42.7 GB/s", "7.12 GB/s", "2.37 GB/s"):
        assert figure in page


def test_fibre_channel_exceeds_its_nominal_rate_and_loses_some_to_frames() -> None:
    raw = inventory_document("redstorm")
    for entry in raw["parts"]:
        if entry.get("link") == "2 Gb/s":
            entry["link"] = "2.125 Gb/s"
    line_rate = speeds(build(raw)).writes["oss001-fc1"]
    assert line_rate == 212.5 * MB
    # FC-FS: 2112 bytes of data in a frame of 2148, six words of 4 bytes between frames
    framed = line_rate * 2112 / (2148 + 24)
    assert framed == pytest.approx(206.6 * MB, rel=1e-3)
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert "212.5 MB/s" in page
    assert "206.6 MB/s" in page


@pytest.mark.parametrize(
    ("machine", "servers", "targets"),
    [
        ("redstorm", 160, [320]),
        ("edison", 84, [96, 96, 144]),
        ("bgl", 224, [448]),
        ("jaguar", 36, [144]),
    ],
)
def test_the_machines_have_the_sizes_of_the_papers(
    machine: str, servers: int, targets: list[int]
) -> None:
    topology = site(machine)
    systems = Counter(target.file_system for target in topology.targets.values())
    assert list(systems.values()) == targets
    assert sum(host.kind == "server" for host in topology.hosts()) == servers


def demonstrated(machine: str) -> dict[Key, Baseline]:
    return read_baselines(inventory_document(machine, "baselines"))


@pytest.mark.parametrize("machine", MACHINES)
def test_demonstrated_rates_are_baselines_without_verdicts(machine: str) -> None:
    accepted = demonstrated(machine)
    written = write_baselines(accepted)["plumbline_baselines"]
    assert written == inventory_document(machine, "baselines")
    assert all(baseline.demonstrated for baseline in accepted.values())
    assert all("section" in baseline.reason for baseline in accepted.values())
    # each belongs to a line of plumbline ceiling
    topology = site(machine)
    policy = load_policy(inventory_document(machine, "policy"))
    all_lines = (*measurements(topology, assignments(topology, policy)), *at_once(topology))
    shown = with_demonstrated(topology, all_lines, accepted)
    assert {rate for line in shown for rate in line.demonstrated.values()} == {
        baseline.median for baseline in accepted.values()
    }


@cache
def shares(machine: str) -> dict[str, float]:
    """Return the joint rate of each file system as a share of its ceiling, by operation."""
    return {
        f"{key.component} {key.operation}": baseline.median
        / rate(machine, key.component, key.operation)
        for key, baseline in demonstrated(machine).items()
        if key.layer == "fs" and line(machine, key.component, key.operation).scenario == "all"
    }


def test_no_file_system_of_a_paper_is_below_its_floor_except_the_first_blue_gene() -> None:
    floors = {
        machine: limits_of(
            load_policy(inventory_document(machine, "policy")), "fs", "", ""
        ).min_efficiency
        for machine in MACHINES
    }
    # the paper omits the controllers in Jaguar's path, which shows in its writes
    assert floors == {"redstorm": 0.5, "edison": 0.5, "bgl": 0.5, "jaguar": 0.3}
    assert shares("redstorm") == pytest.approx({"scratch write": 0.845}, rel=1e-3)
    assert shares("edison") == pytest.approx(
        {
            f"{name} {operation}": share
            for name, share in (("fs1", 0.6), ("fs2", 0.75), ("fs3", 1.0))
            for operation in ("write", "read")
        }
    )
    assert shares("bgl") == pytest.approx({"lustre write": 0.863, "lustre read": 1.0}, rel=1e-3)
    assert shares("jaguar") == pytest.approx(
        {"scratch write": 0.347, "scratch read": 0.583}, rel=1e-2
    )
    for machine in MACHINES:
        assert min(shares(machine).values()) > floors[machine]
    # section 1: "no more than 12 GB/s for writes", "well below half the rate initially expected"
    assert 12 * GB / rate("bgl", "lustre", "write") < floors["bgl"]
