"""Small reads: of devices that the topology calls flash, of file systems that the policy names."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Reference
from plumbline.model.record import Operation
from plumbline.model.small_reads import RANDREAD, RANDREAD32
from plumbline.plan.duration import seconds_of
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import part, site

SMALL = ["randread/single", "randread32/single"]
TAILS = ["randread p99.9/single", "randread32 p99.9/single"]


def compiled(layers: Any = None, **changes: Any) -> Plan:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").update(changes)
    return compile_plan(build(document), load({"layers": layers or {}}), {})


def entry(plan: Plan, layer: str) -> Expectation:
    entries = (entry for entries in plan.expectations.values() for entry in entries)
    return next(entry for entry in entries if entry.layer == layer)


def test_only_what_is_called_flash_has_small_reads_and_their_tails_are_judged() -> None:
    disk, flash = (entry(compiled(**changes), "raw") for changes in ({}, {"media": "flash"}))
    assert [*disk.references] == ["read/single", "read/together"]
    assert [*flash.references] == [*disk.references, *SMALL, *TAILS]
    (service,) = {
        service.description
        for service in compiled(media="flash").services
        if (service.layer, service.component) == ("raw", "oss1-disk1")
    }
    assert service == "RAW oss1-disk1 read randread randread32"


@pytest.mark.parametrize(
    ("judge", "judged"), [([], []), (["p99"], ["randread p99/single", "randread32 p99/single"])]
)
def test_the_policy_names_other_times_or_none(judge: list[str], judged: list[str]) -> None:
    flash = entry(compiled({"raw": {"judge": judge}}, media="flash"), "raw")
    assert [*flash.references][4:] == judged


def test_the_targets_of_a_file_system_have_small_reads_if_the_policy_names_it() -> None:
    stream, both = (
        entry(compiled(layers), "ost") for layers in ({}, {"ost": {"random_reads": ["scratch"]}})
    )
    assert [*stream.references] == ["write/single", "read/single"]
    assert [*both.references] == [*stream.references, *SMALL, *TAILS]


def test_targets_with_small_reads_are_measured_at_the_same_time_as_without() -> None:
    waves = [
        [item.wave for item in compiled(layers, rate="20 MB/s").expectations["client1"]]
        for layers in ({}, {"ost": {"random_reads": ["scratch"]}})
    ]
    assert waves[0] == waves[1]
    assert max(waves[0]) > 0


def test_small_reads_have_terms_of_their_own() -> None:
    flash = entry(compiled({"raw": {"probe": {"bytes": "64 MiB"}}}, media="flash"), "raw")
    stream, small, deep, tail = (
        flash.spec_of(operation)
        for operation in (Operation.READ, RANDREAD, RANDREAD32, Operation("randread32 p99.9"))
    )
    assert stream == flash.spec
    assert (small.tool, small.transfer_bytes, small.queue_depth) == ("fio", 4096, 1)
    assert (small.bytes, small.seconds, small.pattern) == (64 << 20, 5.0, "random")
    assert deep == small._replace(queue_depth=32)
    assert tail == deep
    assert len({stream.hash(), small.hash(), deep.hash()}) == 3


def test_a_data_sheet_limits_many_small_reads_at_once() -> None:
    references = entry(compiled(media="flash", iops=800_000), "raw").references
    ceiling = references["randread32/single"].ceiling
    assert ceiling is not None
    assert (ceiling.rate, ceiling.limited_by, ceiling.kinds) == (
        800_000.0,
        ("oss1-disk1",),
        ("disk",),
    )
    assert references["randread/single"] == Reference(None, None)


def test_small_reads_take_seconds() -> None:
    disk, flash = (entry(compiled(**changes), "raw") for changes in ({}, {"media": "flash"}))
    longer = flash.spec.repeats * 2 * 5.0
    assert seconds_of([flash]) - seconds_of([disk]) == pytest.approx(longer)
    assert flash.limits.hung_after_s - disk.limits.hung_after_s == longer


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"media": "tape"}, "media"),
        ({"iops": 100}, "give media: flash too"),
        ({"media": "flash", "iops": 0}, "iops"),
    ],
)
def test_a_contradiction_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        compiled(**changes)


def test_a_part_that_is_no_device_has_no_media() -> None:
    document = site()
    part(document, "client1")["media"] = "flash"
    with pytest.raises(DocumentError, match=r"client1.*give device too"):
        build(document)
