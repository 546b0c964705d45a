"""Faults as typed by a person, and random faults."""

from __future__ import annotations

import pytest

from plumbline.model.errors import UsageError
from plumbline.parts.simulate.fleet import (
    BEFORE,
    Fault,
    Losses,
    parse_fault,
    parse_losses,
    random_faults,
    refuse_unknown,
)
from tests.package.parts.simulate.fleets import fleet

KNOWN = ["disk1"], ["scratch"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("oss1-disk1=40%", Fault("oss1-disk1", 0.4, 1)),
        ("oss1-disk1=40%@12", Fault("oss1-disk1", 0.4, 12)),
        ("oss1=12.5@2", Fault("oss1", 0.125, 2)),
        ("oss1=40%@0", Fault("oss1", 0.4, 0)),
        ("release-2.4.0=70%:read@40", Fault("release-2.4.0", 0.7, 40, "read")),
        ("release-2.4.0/fs2=70%", Fault("release-2.4.0/fs2", 0.7)),
        ("oss1=40%@5-9", Fault("oss1", 0.4, 5, last=9)),
        ("oss1=40%:write@5~3/10", Fault("oss1", 0.4, 5, "write", share=0.3)),
        ("oss1=2%/week@5", Fault("oss1", 0.02, 5, drift=True)),
        ("oss1=40%@before", Fault("oss1", 0.4, BEFORE)),
        ("oss1=40%@before-0", Fault("oss1", 0.4, BEFORE, last=0)),
        ("oss1=-10%@5", Fault("oss1", -0.1, 5)),
    ],
)
def test_a_fault_is_a_part_a_loss_and_a_day(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    ["oss1", "=40%", "oss1=", "oss1=x%", "oss1=0%", "oss1=100%", "oss1=40%@", "oss1=40%@-1"]
    + ["oss1=40%:", "oss1=40%:erase", "oss1=40%@2:read", "oss1=40%~3", "oss1=40%~4/3"]
    + ["oss1=40%~0/3", "oss1=40%@5-", "oss1=40%/day"],
)
def test_an_invalid_fault_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="for example"):
        parse_fault(text)


def losses_of(fault: Fault, days: int) -> list[float]:
    """Return the loss of each day from the first on, 0 for days without."""
    return [slow.loss if (slow := fault.on(day, "1")) else 0.0 for day in range(1, days + 1)]


def test_a_repaired_fault_explains_alarms_for_two_more_days() -> None:
    assert losses_of(Fault("a", 0.4, 3), 5) == [0, 0, 0.4, 0.4, 0.4]
    repaired = Fault("a", 0.4, 2, last=3)
    assert losses_of(repaired, 5) == [0, 0.4, 0.4, 0, 0]
    assert [repaired.blamed(day) for day in range(1, 7)] == [False, *[True] * 4, False]


def test_an_intermittent_fault_has_its_share_of_the_days() -> None:
    losses = losses_of(Fault("a", 0.4, share=0.3), 1000)
    assert set(losses) == {0.0, 0.4}
    assert sum(losses) / 400 == pytest.approx(0.3, abs=0.05)
    assert losses == losses_of(Fault("a", 0.4, share=0.3), 1000)


def test_a_drift_loses_the_same_share_each_week() -> None:
    losses = losses_of(Fault("a", 0.02, 1, drift=True), 21)
    assert losses[6::7] == pytest.approx([0.02, 1 - 0.98**2, 1 - 0.98**3])
    assert losses == sorted(losses)


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        ("20-90%", Losses(0.2, 0.9)),
        ("40%", Losses(0.4, 0.4, (0.4,))),
        ("15,20,30%", Losses(0.15, 0.3, (0.15, 0.2, 0.3))),
    ],
)
def test_losses_are_a_range_or_a_list(text: str, losses: Losses) -> None:
    assert parse_losses(text) == losses


@pytest.mark.parametrize("text", ["", "90-20%", "20-", "0-50%", "a,b", "20-100%"])
def test_an_invalid_loss_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="loss"):
        parse_losses(text)


def test_random_faults_are_of_different_parts_and_begin_in_the_first_half() -> None:
    parts = [f"disk{number}" for number in range(50)]
    drawn = random_faults(parts, 50, Losses(0.2, 0.9), 60, "1")
    assert sorted(fault.component for fault in drawn) == sorted(parts)
    assert all(0.2 <= fault.loss <= 0.9 and 1 <= fault.day <= 30 for fault in drawn)
    assert len({fault.day for fault in drawn}) > 10


def test_equal_seeds_draw_equal_faults() -> None:
    parts = [f"disk{number}" for number in range(50)]
    losses = parse_losses("15,30%")
    drawn = [random_faults(parts, 5, losses, 60, seed) for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_a_fault_of_a_part_on_no_path_is_refused() -> None:
    with pytest.raises(UsageError, match="crosses 'disk9'"):
        refuse_unknown([Fault("disk9", 0.4)], *KNOWN, 30)


def test_a_fault_after_the_last_day_is_refused() -> None:
    with pytest.raises(UsageError, match="after the last day, 30"):
        refuse_unknown([Fault("disk1", 0.4, 31)], *KNOWN, 30)


def test_a_release_is_for_a_file_system_of_the_site_or_for_all() -> None:
    releases = [Fault("release-2.4.0/scratch", 0.4), Fault("release-2.4.0", 0.4)]
    assert [(release.version, release.system) for release in releases] == [
        ("2.4.0", "scratch"),
        ("2.4.0", ""),
    ]
    wide = [*releases, Fault("site", 0.4), Fault("scratch", 0.4)]
    refuse_unknown(wide, *KNOWN, 30)
    with pytest.raises(UsageError, match="no file system of this site; it has scratch"):
        refuse_unknown([Fault("release-2.4.0/home", 0.4)], *KNOWN, 30)


def test_the_neighbour_of_a_target_shares_most_parts_with_it() -> None:
    small = fleet()
    paths = {
        member.key[1]: set(member.expectation.path)
        for member in small.members
        if member.key[0] == "ost"
    }
    for name, path in paths.items():
        shared = {other: len(path & its) for other, its in paths.items() if other != name}
        assert shared[small.neighbour(name)] == max(shared.values())
    assert small.neighbour("oss1-disk1") == "oss1-disk2"
    with pytest.raises(UsageError, match="is no target or device, so it has no neighbour"):
        small.neighbour("switch1")
