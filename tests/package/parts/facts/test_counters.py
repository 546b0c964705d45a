"""Lustre's counters as metrics, and rates between two readings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Mapping

import pytest

from plumbline.model.errors import ToolError
from plumbline.model.metric import BYTES, OPERATIONS, RECOVERY, SECONDS
from plumbline.observe.command import SystemClock
from plumbline.observe.lustre_output import (
    job_requests,
    job_stats,
    lustre_stats,
    parse_import,
    parse_layout,
    parse_osts,
    parse_parameter,
    parse_usage,
)
from plumbline.parts.facts.counters import (
    Count,
    Labels,
    Parse,
    Rates,
    buffers,
    disk_io,
    interfaces,
    lnet_stats,
    rates,
    recovery,
    service,
    stats,
)
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.lnet_output import (
    MAX_PEERS,
    interface_health,
    peer_health,
    route_states,
)
from plumbline.parts.facts.verbs.counters import Looks
from tests.package.observe.lustre_server import OST_STATS, make_server, put
from tests.package.recorded import data, table, text

FILE = table("counters.yml")
PARSERS: dict[str, Parse] = {
    "stats": stats,
    "service": service,
    "disk_io": disk_io,
    "recovery": recovery,
    "lnet_stats": lnet_stats,
    "interfaces": interfaces,
    "buffers": buffers,
    "interface_health": interface_health,
    "peer_health": peer_health,
    "route_states": route_states,
}
READERS: dict[str, Callable[[str, str], Mapping[Any, Any]]] = {
    "lustre_stats": lustre_stats,
    "job_stats": job_stats,
    "job_requests": job_requests,
    "usage": lambda output, _: usage(output),
    "osts": lambda output, _: {name: list(ost) for name, ost in parse_osts(output).items()},
    "active": lambda output, _: parse_parameter(output, "lustre-OST0002", "active"),
    "import": lambda output, _: parse_import("d", output)._asdict(),
    "layout": lambda output, _: parse_layout(output)._asdict(),
}


def usage(output: str) -> Mapping[str, list[Any]]:
    """Return used and available bytes and the flags of each OST in a line."""
    osts = re.findall(r"^([\w-]+)_UUID", output, re.MULTILINE)
    usages = {ost: parse_usage(output, ost) for ost in osts}
    return {ost: [*found.space, found.flags] for ost, found in usages.items() if found}


def counted(reader: str, output: str) -> Mapping[Any, Any]:
    """Return values by metric, without plumbline's prefix, and by label values."""
    if reader in READERS:
        return READERS[reader](output, "path")
    counts = list(PARSERS[reader](output, (), "path"))
    named = {
        " ".join([count.metric.name.partition("_")[2], *(value for _, value in count.labels)]): (
            count.value
        )
        for count in counts
    }
    assert len(named) == len(counts)
    return named


@pytest.mark.parametrize("case", FILE["said"], ids=lambda case: case["case"])
def test_lustre_counters_have_names(case: dict[str, Any]) -> None:
    values = counted(case["reader"], text(case["text"]))
    names = values if case.get("all") else case["says"]
    shown = {name: values.get(name) for name in names}
    assert {
        name: list(value) if isinstance(value, tuple) else value for name, value in shown.items()
    } == case["says"]
    assert len(values) == case.get("number", len(values))
    assert all('"' not in name and "{" not in name for name in values)


@pytest.mark.parametrize("case", FILE["refused"])
def test_an_unknown_format_is_refused_with_its_path(case: dict[str, Any]) -> None:
    for reader in case["readers"]:
        with pytest.raises(ToolError, match=re.escape(case["says"])):
            counted(reader, text(case["text"]))


def test_histogram_buckets_stay_once_they_exist() -> None:
    whole = data("lustre/brw_stats.txt")
    empty = "\n".join(line for line in whole.split("\n") if not line[:1].isdigit())
    assert counted("disk_io", empty).keys() == counted("disk_io", whole).keys()


def test_the_least_healthy_of_many_peers_are_named() -> None:
    whole = data("lustre/lnetctl_peer_show.txt").split("\n", 1)[1]
    peer = whole.split("-     primary nid: 10.0.2.99@tcp")[0]
    many = "peer:\n" + "".join(
        peer.replace("10.0.2.15", f"10.0.3.{number}").replace(
            "health value: 1000", f"health value: {900 - number}"
        )
        for number in range(100)
    )
    values = dict(counted("peer_health", many))
    assert (values.pop("lnet_peers"), values.pop("lnet_peers_unhealthy")) == (100, 100)
    assert len(values) == MAX_PEERS
    assert values["lnet_peer_health 10.0.3.99@tcp"] == 801
    assert max(values.values()) == 900 - 100 + MAX_PEERS


@pytest.mark.parametrize(
    ("reader", "file"),
    [("interface_health", "lnetctl_net_show.txt"), ("peer_health", "lnetctl_peer_show.txt")],
)
def test_truncated_output_is_refused_or_ends_before_an_interface(reader: str, file: str) -> None:
    output = data(f"lustre/{file}")
    whole = counted(reader, output)
    heads = [match.start() for match in re.finditer(r"^ *(- +)?", output, re.MULTILINE)]
    for end in (*heads[1:], *range(1, len(output), 7)):
        try:
            values = counted(reader, output[:end])
        except ToolError:
            continue
        # it was cut at a line's end, and all its values are true
        assert end in heads
        assert all(whole[key] >= value for key, value in values.items())


# --- Rates between two readings, None if unknown


def ost(name: str, read: float, write: float, number: float, seconds: float) -> list[Count]:
    device: Labels = (("source", "obdfilter"), ("target", name))
    of_read, of_write = (*device, ("operation", "read")), (*device, ("operation", "write"))
    return [
        Count(BYTES, of_read, read),
        Count(BYTES, of_write, write),
        Count(OPERATIONS, of_read, number),
        Count(OPERATIONS, (*device, ("operation", "statfs")), 7),
        Count(SECONDS, of_read, seconds),
    ]


BEFORE = [*ost("a", 100, 50, 10, 2), *ost("b", 0, 0, 0, 0)]


def test_the_busiest_target_comes_first() -> None:
    after = [*ost("b", 20, 0, 4, 1), *ost("a", 1100, 50, 20, 7)]
    assert rates(BEFORE, after, 10) == [
        Rates("obdfilter", "a", 100.0, 0.0, 1.0, 0.5, ""),
        Rates("obdfilter", "b", 2.0, 0.0, 0.4, 0.25, ""),
    ]


@pytest.mark.parametrize(
    ("after", "seconds", "expected"),
    [
        (ost("a", 100, 50, 10, 2), 5, Rates("obdfilter", "a", 0.0, 0.0, 0.0, None, "")),
        (ost("a", 5, 60, 1, 0.1), 10, Rates("obdfilter", "a", None, 1.0, None, None, "")),
        (ost("new", 5, 5, 1, 1), 10, Rates("obdfilter", "new", None, None, None, None, "")),
        (ost("a", 200, 60, 20, 3), 0, Rates("obdfilter", "a", None, None, None, 0.1, "")),
    ],
    ids=["idle", "began again", "came from another server", "no time"],
)
def test_an_unknown_rate_is_none(after: list[Count], seconds: float, expected: Rates) -> None:
    assert rates(BEFORE, after, seconds) == [expected]


@pytest.mark.parametrize(
    ("table", "operations", "seconds", "timed"),
    [
        ("osc_stats.txt", 326, 13.309888, 326),
        ("mdc_stats.txt", 3337, 37.047254, 3337),
        ("md_stats_rename.txt", 5071, 3.792108, 5071),
        # an ioctl has a number without a time; 44 times from close to open are no operations
        ("llite_stats.txt", 7274, 61.97113, 6408),
    ],
)
def test_a_request_on_several_lines_of_lustre_counts_once(
    table: str, operations: int, seconds: float, timed: int
) -> None:
    device: Labels = (("source", "osc"), ("target", "a"))
    after = list(stats(data(f"lustre/{table}"), device, table))
    (rate,) = rates([count._replace(value=0.0) for count in after], after, 1.0)
    assert rate.operations_per_s == operations
    assert rate.latency_s == pytest.approx(seconds / timed)


def test_a_client_names_its_mount_and_a_target_its_recovery() -> None:
    client: Labels = (("source", "osc"), ("target", "a"), ("mount", "ffff00"))
    server: Labels = (("source", "obdfilter"), ("target", "a"))
    rows = rates(
        [],
        [
            Count(BYTES, (*client, ("operation", "read")), 1),
            Count(RECOVERY, (*server, ("status", "recovering")), 1),
        ],
        1,
    )
    assert [(row.name, row.recovery) for row in rows] == [("a (ffff00)", ""), ("a", "recovering")]


def test_live_rates_of_a_server_are_shown_from_the_second_reading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_server(tmp_path, 2)
    clock = SystemClock()
    looks = Looks(Counters(BoundedReads(), clock, str(tmp_path)), clock)
    looks.show()
    assert capsys.readouterr() == ("", "")
    line = next(text for text in OST_STATS.splitlines() if text.startswith("write_bytes"))
    words = line.split()
    words[6] = str(int(words[6]) + 10**9)
    stats = tmp_path / "sys/kernel/debug/lustre/obdfilter/lustre-OST0001/stats"
    put(stats, OST_STATS.replace(line, " ".join(words)))
    looks.show()
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[:4] == ["source", "target", "read", "write"]
    assert shown[1].split()[:4] == ["obdfilter", "lustre-OST0001", "0", "B/s"]
    assert [row.split()[:2] for row in shown[2:4]] == [
        ["obdfilter", "lustre-OST0000"],
        ["mdt", "lustre-MDT0000"],
    ]
