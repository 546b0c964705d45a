"""Next measurement: it divides the suspects best and, among equals, disturbs least."""

from __future__ import annotations

from typing import Any, Iterable, Optional

import pytest

from plumbline.parts.locate.next_probe import Candidates, Intrusion, NextProbe, next_probe
from plumbline.parts.locate.suspects import Located, locate
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import LAB, REDSTORM, LaneRates, Scene, both
from tests.package.sites import site


def probe_text(scene: Scene, located: Located) -> Optional[NextProbe]:
    """Return the next measurement for a single ambiguity set."""
    (ambiguity,) = located.sets
    slow = [located.observations[index].of.component for index in ambiguity.explains]
    names = [suspect.name for suspect in ambiguity.suspects]
    return next_probe(located, ambiguity, scene.candidates.crossing(names, slow))


def words(scene: Scene, remaining: LaneRates, silent: Iterable[str]) -> str:
    probe = probe_text(scene, scene.locate(remaining, silent))
    return probe.candidate.words if probe else ""


@pytest.mark.parametrize(
    ("scene", "rates", "silent", "expected"),
    [
        pytest.param(
            LAB,
            {"oss2-disk1": both(80e6)},
            ["raw"],
            "a raw read of oss2-disk1 on oss2",
            id="disk or the file system on it",
        ),
        pytest.param(
            REDSTORM,
            {"oss001-link": both(100e6)},
            ["raw"],
            "a raw read of ddn01a-lun1 on oss001",
            id="front or back of a server",
        ),
        pytest.param(
            REDSTORM,
            {"ddn01a-lun1": both(80e6)},
            [],
            "a read of scratch-OST0000 failed over to oss002",
            id="disk or a port of its path",
        ),
        pytest.param(
            REDSTORM, {"login1": both(100e6)}, [], "", id="nothing can divide client and mesh"
        ),
    ],
)
def test_the_next_measurement(
    scene: Scene, rates: LaneRates, silent: list[str], expected: str
) -> None:
    assert words(scene, rates, silent) == expected


def test_a_network_test_is_preferred_to_a_raw_read() -> None:
    """One client sees one server slow; network and disks are not measured."""
    located = LAB.locate({"oss2": both(25e6)}, ["net", "raw", "ost scratch-OST0003"])
    probe = probe_text(LAB, located)
    assert probe is not None
    kinds = {
        candidate.intrusion
        for candidate in LAB.candidates.crossing(["oss2"], ["scratch-OST0002"])
        if candidate.of.name.startswith(("net", "raw"))
    }
    assert {Intrusion.PAIR, Intrusion.RAW_READ} <= kinds
    assert probe.candidate.intrusion in (Intrusion.PAIR, Intrusion.RAW_READ)


def test_each_outcome_has_its_own_suspects() -> None:
    probe = probe_text(LAB, LAB.locate({"oss2-disk1": both(80e6)}, ["raw"]))
    assert probe is not None
    slow, fine = probe.outcomes
    assert slow.alternatives == (("oss2-disk1",),)
    assert slow.ratio == pytest.approx(0.4, abs=0.01)
    assert fine.alternatives == (("scratch-OST0002",),)
    assert fine.ratio == 1.0


def test_only_measurements_older_than_the_loss_are_repeated() -> None:
    """An old raw read does not clear the disk, so it is repeated."""
    observations = [
        item._replace(at=50.0) if item.of.layer == "raw" else item._replace(at=200.0, since=100.0)
        for item in LAB.observe({"oss2-disk1": both(80e6)})
        if item.of.layer != "raw" or item.of.component != "oss2-disk1"
    ]
    old = [
        item._replace(at=50.0) for item in LAB.observe({}) if item.of.name == "raw oss2-disk1 read"
    ]
    probe = probe_text(LAB, locate([*observations, *old]))
    assert probe is not None
    assert probe.candidate.of.name == "raw oss2-disk1 read"
    assert suspects_after(observations, old[0]._replace(at=150.0)) == {"scratch-OST0002"}


def suspects_after(observations: list[Any], raw_read: Any) -> set[str]:
    """Return the suspects when the raw read was made after the trouble began."""
    (ambiguity,) = locate([*observations, raw_read]).sets
    return {suspect.name for suspect in ambiguity.suspects}


def test_another_client_and_joint_runs_are_candidates() -> None:
    document = site()
    document["parts"][-1]["address"] = "10.0.0.21"
    document["parts"].append(
        {
            "name": "client2",
            "kind": "client",
            "rate": "1 GB/s",
            "feeds": "switch1",
            "address": "10.0.0.22",
        }
    )

    scene = Scene(build(document))
    candidates = {
        candidate.intrusion: candidate
        for candidate in scene.candidates.crossing(["client1", "oss1"], ["scratch-OST0"])
    }
    other_client = candidates[Intrusion.OTHER_CLIENT].of
    assert other_client.path == ("client2", "switch1", *other_client.path[2:])
    assert other_client.path[-1] == "scratch-OST0"
    together = [
        candidate
        for candidate in scene.candidates.crossing(["oss1"], ["scratch-OST0"])
        if "2 targets behind oss1" in candidate.words
    ]
    assert dict(zip(together[0].of.path, together[0].of.flows))["oss1"] == 2
    assert dict(zip(together[0].of.path, together[0].of.flows))["oss1-disk1"] == 1


def test_a_slow_client_is_told_from_its_network_by_a_pair() -> None:
    document = site()
    document["parts"][-1].update(address="10.0.0.21")
    document["parts"].append({**document["parts"][-1], "name": "c2", "address": "10.0.0.22"})

    scene = Scene(build(document))
    located = scene.locate({"client1": both(40e6)}, ["net"])
    probe = probe_text(scene, located)
    assert probe is not None
    assert probe.candidate.intrusion is Intrusion.PAIR


def test_a_site_without_measurements_has_no_candidate() -> None:
    assert list(Candidates({}).crossing(["oss1"], ["OST0"])) == []
