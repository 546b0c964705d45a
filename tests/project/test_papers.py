"""All theoretical figures of the papers follow from the inventories of their machines.

docs/papers.md has a row for each case here, written by tests/project/generated.py.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import Callable, NamedTuple

import pytest

from plumbline.model.limits import Baseline
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import Key, read_baselines, write_baselines
from plumbline.plan.policy import limits_of
from plumbline.plan.policy import load as load_policy
from plumbline.plan.references import Line, at_once, measurements, speeds, with_demonstrated
from plumbline.topology.ceiling import Capacities, together
from plumbline.topology.document import Zone, load
from plumbline.topology.graph import Topology, build
from plumbline.topology.names import expand
from plumbline.topology.paths import storage_side
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


def following(machine: str, component: str, zone: Zone) -> float:
    """Return the next limit of a single path."""
    limit = line(machine, component, "write", zone).limit
    assert limit is not None
    assert limit.next is not None
    return limit.next.rate


def part(machine: str, name: str, zone: Zone = FASTEST) -> float:
    """Return the rate of a part towards storage."""
    written = site(machine, zone).components[name].write_Bps
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


def shared(capacity_Bps: float, flows: int) -> float:
    """Return the rate of one of ``flows`` flows through the same part."""
    limit = together({"part": capacity_Bps}, {str(flow): ["part"] for flow in range(flows)})["0"]
    assert limit is not None
    return limit.ceiling.rate


def total(capacities: Capacities, paths: dict[str, tuple[str, ...]]) -> float:
    limits = together(capacities, paths).values()
    return sum(limit.ceiling.rate for limit in limits if limit)


def red_storm_ports(rate: float, number: int = 320) -> float:
    """Return the total of targets if each controller port gives ``rate`` of its 200 MB/s."""
    topology = site("redstorm")
    ports = {name: rate for name, part in topology.components.items() if part.kind == "port"}
    paths = {
        target.name: storage_side(topology, target)
        for target in list(topology.targets.values())[:number]
    }
    return total({**speeds(topology).writes, **ports}, paths)


def red_storm_couplet(rate: float) -> float:
    """Return the share of a port if a couplet of two controllers has a limit of its own."""
    topology = site("redstorm")
    paths = {
        target.name: ("couplet", *storage_side(topology, target))
        for target in topology.targets.values()
        if target.on.startswith(("ddn01a", "ddn01b"))
    }
    assert len(paths) == 8
    return total({**speeds(topology).writes, "couplet": rate}, paths) / 8


def edison_in_august(file_system: str, targets: int) -> float:
    """Return the total of a file system's units at the acceptance of the machine."""
    topology = site("edison")
    own = [target for target in topology.targets.values() if target.file_system == file_system]
    paths = {target.name: storage_side(topology, target) for target in own[:targets]}
    return total(speeds(topology).writes, paths)


def blue_gene_nodes(per_card: int, cards: int) -> float:
    """Return the total rate of the first nodes of the first line cards."""
    topology = site("bgl")
    numbers = [24 * card + node + 1 for card in range(cards) for node in range(per_card)]
    paths = {f"io{number:04d}": topology.routes[f"io{number:04d}"][0] for number in numbers}
    return total(speeds(topology).writes, paths)


class Case(NamedTuple):
    """A figure of a paper, its place in plumbline, and its calculation from the inventory."""

    place: str
    figure: str
    shown: str
    expected: float
    calculate: Callable[[], float]


RED_STORM = [
    Case(
        "II",
        "the link of a node: 2.1 GB/s",
        "part `oss001-link`",
        2.1 * GB,
        partial(part, "redstorm", "oss001-link"),
    ),
    Case(
        "II",
        "bisection of the mesh: 3.6 TB/s",
        "part `mesh`",
        3600 * GB,
        partial(part, "redstorm", "mesh"),
    ),
    Case(
        "III-A.1",
        "one port of a host adapter: 200 MB/s",
        "part `oss001-fc2`",
        200 * MB,
        partial(part, "redstorm", "oss001-fc2"),
    ),
    Case(
        "III-A.1",
        "one port of a controller: 200 MB/s",
        "part `ddn40b-fc4`",
        200 * MB,
        partial(part, "redstorm", "ddn40b-fc4"),
    ),
    Case(
        "III-A.1",
        "one data channel: 100 MB/s",
        "one of the eight that part `ddn01a-data` counts",
        100 * MB,
        partial(one_of, "redstorm", "ddn01a-data"),
    ),
    Case(
        "III-A.1",
        "eight data channels: 800 MB/s",
        "part `ddn01a-data`",
        800 * MB,
        partial(part, "redstorm", "ddn01a-data"),
    ),
    *(
        Case(
            "III-A.1",
            f"eight disks at their {zone.value}: {expected} MB/s",
            f"next limit of a target, `--zone {zone.value}`",
            expected * MB,
            partial(following, "redstorm", "scratch-OST0000", zone),
        )
        for zone, expected in ((Zone.SLOWEST, 344), (Zone.AVERAGE, 528), (Zone.FASTEST, 624))
    ),
    Case(
        "III-A.1",
        "a single path: 200 MB/s",
        "each target alone, by the ports of host adapter and controller",
        200 * MB,
        partial(rate, "redstorm", "scratch-OST0000", "write"),
    ),
    Case(
        "III-A.1",
        "each of both ports of a host adapter: 200 MB/s",
        "at once `oss[001-160]-hba`, each",
        200 * MB,
        partial(flow_rate, "redstorm", "oss001-hba", "write"),
    ),
    Case(
        "III-A.2",
        "eight data channels over four ports: 200 MB/s a port",
        "four flows over part `ddn01a-data` alone",
        200 * MB,
        lambda: shared(part("redstorm", "ddn01a-data"), 4),
    ),
    Case(
        "III-A.2",
        "one data channel over four ports: 25 MB/s a port",
        "four flows over one of its eight channels",
        25 * MB,
        lambda: shared(one_of("redstorm", "ddn01a-data"), 4),
    ),
    Case(
        "III-A.2",
        "each of four ports of a controller: 200 MB/s",
        "at once `ddn[01-40]a-data`, each: ports and channels limit alike",
        200 * MB,
        partial(flow_rate, "redstorm", "ddn01a-data", "read"),
    ),
    Case(
        "III-B.2",
        "four ports of a controller: 800 MB/s",
        "at once `ddn[01-40]a-data`, in sum",
        800 * MB,
        partial(rate, "redstorm", "ddn01a-data", "read"),
    ),
    Case(
        "III-B",
        "a port of a couplet of 1.4 GB/s: 175 MB/s",
        "eight targets behind a part of that rate",
        175 * MB,
        partial(red_storm_couplet, 1.4 * GB),
    ),
    Case(
        "III-B",
        "a port of a couplet of 1.5 GB/s: 187.5 MB/s",
        "eight targets behind a part of that rate",
        187.5 * MB,
        partial(red_storm_couplet, 1.5 * GB),
    ),
    Case(
        "IV-A",
        "seven targets of 128 MB/s: more than 850 MB/s",
        "seven targets with ports of that rate: 896 MB/s",
        896 * MB,
        partial(red_storm_ports, 128 * MB, 7),
    ),
    Case(
        "V",
        "320 ports: 64 GB/s",
        "at once all of `scratch`, in sum",
        64 * GB,
        partial(rate, "redstorm", "scratch", "write"),
    ),
    Case(
        "V",
        "320 ports of 195 MB/s: 62400 MB/s",
        "all targets with ports of that rate",
        62400 * MB,
        partial(red_storm_ports, 195 * MB),
    ),
    Case(
        "V",
        "320 targets of 154.15 MB/s: 49280 MB/s",
        "all targets with ports of that rate: **49328 MB/s**",
        49328 * MB,
        partial(red_storm_ports, 154.15 * MB),
    ),
    Case(
        "V",
        "320 targets of 176.31 MB/s: 56419.2 MB/s",
        "all targets with ports of that rate",
        56419.2 * MB,
        partial(red_storm_ports, 176.31 * MB),
    ),
]

EDISON = [
    Case(
        "I",
        "336 targets: 168 GB/s",
        "at once all of `edison`, in sum",
        168 * GB,
        partial(rate, "edison", "edison", "write"),
    ),
    *(
        Case(
            "II",
            f"FS{number}, {units} units: {expected} GB/s",
            f"at once all of `fs{number}`, in sum",
            expected * GB,
            partial(rate, "edison", f"fs{number}", operation),
        )
        for number, units, expected in ((1, 12, 48), (2, 12, 48), (3, 18, 72))
        for operation in ("write", "read")
    ),
    Case(
        "II",
        "one unit: 4 GB/s",
        "at once `ssu[01-42]`, in sum; 500 MB/s for each of its eight targets",
        4 * GB,
        partial(rate, "edison", "ssu42", "read"),
    ),
    Case(
        "IV",
        "FS2 with 72 targets, before it was expanded: 36 GB/s",
        "the first 72 targets of `fs2`",
        36 * GB,
        partial(edison_in_august, "fs2", 72),
    ),
    Case(
        "IV",
        "FS3 with 144 targets: 72 GB/s",
        "at once all of `fs3`, in sum",
        72 * GB,
        partial(edison_in_august, "fs3", 144),
    ),
]

BLUE_GENE = [
    Case(
        "1",
        "the network: 45 GB/s",
        "at once all `clients`, in sum",
        45 * GB,
        partial(rate, "bgl", "clients", "send"),
    ),
    Case(
        "1",
        "the Fibre Channel link of a server: 200 MB/s",
        "part `oss224-fc`; the paper gives its 2 Gb/s",
        200 * MB,
        partial(part, "bgl", "oss224-fc"),
    ),
    Case(
        "1",
        "an array writes 1.2 GB/s",
        "at once `ddn[01-28]`, write, in sum",
        1.2 * GB,
        partial(rate, "bgl", "ddn28", "write"),
    ),
    Case(
        "1",
        "an array reads a little over 800 MB/s",
        "at once `ddn[01-28]`, read, in sum: 857 MB/s",
        857 * MB,
        partial(rate, "bgl", "ddn28", "read"),
    ),
    Case(
        "1",
        "28 arrays write 35 GB/s",
        "at once all of `lustre`, write: **33.6 GB/s**",
        33.6 * GB,
        partial(rate, "bgl", "lustre", "write"),
    ),
    Case(
        "1",
        "28 arrays read 24 GB/s",
        "at once all of `lustre`, read",
        28 * 857 * MB,
        partial(rate, "bgl", "lustre", "read"),
    ),
    *(
        Case(
            "2",
            "a switch: 7.5 GB/s",
            "at once `switch[1-5]` and `switch6`, in sum",
            7.5 * GB,
            partial(rate, "bgl", f"switch{number}", "send"),
        )
        for number in range(1, 7)
    ),
    Case(
        "2",
        "the switches of the servers: 45 GB/s",
        "at once all `servers`, in sum",
        45 * GB,
        partial(rate, "bgl", "servers", "receive"),
    ),
    *(
        Case(
            "2",
            "20 of the 24 ports of a line card fill it: 2.5 GB/s",
            "19 nodes of a card have 2.375 GB/s, 20 and 24 have 2.5 GB/s",
            expected,
            partial(blue_gene_nodes, ports, 1),
        )
        for ports, expected in ((19, 2.375 * GB), (20, 2.5 * GB), (24, 2.5 * GB))
    ),
    Case(
        "2",
        "a line card: 2.5 GB/s",
        "at once `card[01-40]`, in sum",
        2.5 * GB,
        partial(rate, "bgl", "card01", "send"),
    ),
    *(
        Case(
            "2",
            "fewer than 10 ports of each of eight line cards fill a switch: 7.5 GB/s",
            "7 of each have 7.0 GB/s, 8 have 7.5 GB/s",
            expected,
            partial(blue_gene_nodes, ports, 8),
        )
        for ports, expected in ((7, 7.0 * GB), (8, 7.5 * GB), (10, 7.5 * GB))
    ),
]

JAGUAR = [
    Case(
        "2.2",
        "36 servers, 144 targets of 4 Gb/s: 72 GB/s",
        "at once all of `scratch`, in sum",
        72 * GB,
        partial(rate, "jaguar", "scratch", "read"),
    ),
    Case(
        "2.2",
        "a target: 4 Gb/s",
        "part `oss36-fc2-port2`: 500 MB/s",
        500 * MB,
        partial(part, "jaguar", "oss36-fc2-port2"),
    ),
    Case(
        "2.2",
        "a card that serves two targets",
        "at once `oss[01-36]-fc[1-2]`: 1 GB/s",
        1 * GB,
        partial(rate, "jaguar", "oss36-fc2", "write"),
    ),
]

CASES = [
    *(("Red Storm", case) for case in RED_STORM),
    *(("Edison", case) for case in EDISON),
    *(("BlueGene/L", case) for case in BLUE_GENE),
    *(("Jaguar", case) for case in JAGUAR),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "case"), CASES, ids=[f"{name} {case.place} {case.figure}" for name, case in CASES]
)
def test_a_figure_of_a_paper_follows_from_the_inventory(machine: str, case: Case) -> None:
    assert case.calculate() == pytest.approx(case.expected)


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
