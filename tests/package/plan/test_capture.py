"""Only sound records of the newest conditions become candidates."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.expectation import Expectation
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.model.record import Flag, Operation, Record
from plumbline.model.spec import ProbeSpec
from plumbline.plan.baseline import Key
from plumbline.plan.capture import Captured, capture
from tests.package.parallel.curves import declining
from tests.package.records import failed, record

SPEC = ProbeSpec("fio", 1 << 30, 60.0)
DAY = 86400.0


def expected(component: str, group: str = "scratch") -> Expectation:
    ceiling = Ceiling(250e6, (component,))
    return Expectation(
        layer="ost",
        component=component,
        host="oss1",
        group=group,
        target={"kind": "lustre", "mount": "/scratch"},
        path=("client1", component),
        spec=SPEC,
        references={"read/single": Reference(ceiling, None)},
        limits=Limits(),
    )


SITE = {("ost", name): expected(name) for name in "abcd"}
SITE["ost", "lonely"] = expected("lonely", "home")


def run(day: int, **changes: Any) -> Record:
    said = {"spec_hash": SPEC.hash(), "versions": {"client": "2.17.0"}, **changes}
    return record(started_at=day * DAY, run_id=f"run-{day}", **said)


def runs(component: str, rates_MBps: list[float]) -> list[Record]:
    return [
        run(day, component=component, rate_Bps=rate * 1e6) for day, rate in enumerate(rates_MBps)
    ]


def key(component: str, operation: str = "read") -> Key:
    return Key("ost", component, operation, "single")


def outlier(captured: Captured, component: str) -> str:
    return captured.candidates[key(component)].outlier


def test_sound_records_become_a_candidate() -> None:
    baseline = capture(runs("a", [200, 202, 198]), SITE).candidates[key("a")].baseline
    assert baseline.median_Bps == pytest.approx(200e6)
    assert baseline.spread == pytest.approx(0.0148, rel=0.01)
    assert (baseline.runs, baseline.first, baseline.last) == (3, "1970-01-01", "1970-01-03")
    assert (baseline.spec_hash, baseline.versions) == (SPEC.hash(), {"client": "2.17.0"})
    assert (baseline.accepted_by, baseline.reason) == ("", "")


def test_a_candidate_says_under_what_it_was_taken() -> None:
    records = [run(day, fill=fill, spec=SPEC.to_json()) for day, fill in enumerate((0.1, 0.2, 0.3))]
    baseline = capture(records, SITE).candidates[key("a")].baseline
    assert baseline.terms == "fio, 1 GiB, transfer 1 MiB, depth 8, direct"
    assert (baseline.host, baseline.tool, baseline.fill) == ("client1", "fio fio-3.39", 0.2)


def test_of_all_targets_at_once_the_profile_is_kept_and_one_odd_run_does_not_change_it() -> None:
    site = {("fs", "scratch"): expected("scratch")._replace(layer="fs")}
    rows = [(400e6,) * 30, (200e6,) * 90, tuple(declining(40)), (300e6,) * 30, (1e6,)]
    records = [
        run(day, layer="fs", component="scratch", profile_Bps=curve)
        for day, curve in enumerate(rows)
    ]
    (candidate,) = capture(records, site).candidates.values()
    assert candidate.baseline.profile == pytest.approx((1.0,) * 20, abs=0.01)


def test_other_layers_and_short_curves_have_no_profile() -> None:
    site = {**SITE, ("fs", "a"): expected("a")._replace(layer="fs")}
    records = [run(0, profile_Bps=(1e8,) * 60), run(0, id="2", layer="fs", profile_Bps=(1e8,) * 3)]
    found = capture(records, site).candidates
    assert [one.baseline.profile for one in found.values()] == [(), ()]


def test_a_candidate_that_will_not_alarm_says_why() -> None:
    few = capture(runs("a", [200, 200, 200]), SITE).candidates[key("a")]
    assert few.weak == "rests on 3 runs of 5 needed"
    wide = capture(runs("a", [200, 160, 240, 200, 150, 230]), SITE).candidates[key("a")]
    assert wide.weak == "spreads by 24 %, more than 10 %"
    assert capture(runs("a", [200] * 5), SITE).candidates[key("a")].weak == ""


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (failed(component="a", spec_hash=SPEC.hash()), "without a rate"),
        (run(9, flags=(Flag.DEGRADED,)), "flagged degraded"),
        (run(9, flags=(Flag.FAILED_OVER,)), "flagged failed_over"),
        (run(9, flags=(Flag.SHORT,)), "flagged short"),
        (run(9, coverage=0.5), "contended"),
        (run(9, rate_Bps=263e6), "above the ceiling"),
        (run(9, spec_hash="other"), "taken on other terms than the policy's"),
        (run(9, component="z"), "of a component that the topology does not have"),
        (run(-9, versions={"client": "2.15.0"}), "taken under earlier conditions"),
        (run(-9, host="client2"), "taken under earlier conditions"),
        (run(-9, tool=None), "taken under earlier conditions"),
        (run(-9, fill=0.9), "taken under earlier conditions"),
    ],
)
def test_a_record_that_says_nothing_of_the_component_is_left_out(bad: Record, reason: str) -> None:
    good = [one._replace(fill=0.5) for one in runs("a", [200, 200, 200])]
    captured = capture([*good, bad], SITE)
    assert captured.left_out == {reason: 1}
    assert captured.candidates[key("a")].baseline.runs == 3


def test_flags_that_lower_no_rate_do_not_matter() -> None:
    sound = run(9, flags=(Flag.CONFIDENCE_MISSED,), coverage=0.95, rate_Bps=260e6)
    assert capture([sound], SITE).left_out == {}


def test_the_newest_versions_count_even_when_they_are_fewer() -> None:
    old = [run(day, rate_Bps=100e6, versions={"client": "2.15.0"}) for day in range(5)]
    new = [run(9, rate_Bps=200e6)]
    baseline = capture([*new, *old], SITE).candidates[key("a")].baseline
    assert (baseline.runs, baseline.versions) == (1, {"client": "2.17.0"})


def test_the_last_runs_count() -> None:
    captured = capture(runs("a", [100.0] * 5 + [200.0] * 3), SITE, last=3)
    assert captured.candidates[key("a")].baseline.median_Bps == pytest.approx(200e6)
    assert captured.left_out == {"older than the last runs": 5}


def test_a_record_given_twice_counts_once() -> None:
    once = runs("a", [200, 202])
    assert capture([*once, *once], SITE).candidates[key("a")].baseline.runs == 2


def test_operations_are_kept_apart() -> None:
    records = [*runs("a", [200]), run(0, operation=Operation.WRITE, rate_Bps=90e6)]
    assert set(capture(records, SITE).candidates) == {key("a"), key("a", "write")}


def test_a_slow_sibling_is_set_apart() -> None:
    records = [one for name in "abc" for one in runs(name, [200])] + runs("d", [80])
    captured = capture(records, SITE)
    assert outlier(captured, "d") == "80.0 MB/s is 40 % of its peers' 200.0 MB/s"
    assert not any(outlier(captured, name) for name in "abc")


def test_ten_percent_below_the_siblings_is_no_outlier_yet() -> None:
    records = [one for name in "abc" for one in runs(name, [200])]
    assert outlier(capture([*records, *runs("d", [180.1])], SITE), "d") == ""
    assert outlier(capture([*records, *runs("d", [179.9])], SITE), "d")


def test_a_site_says_how_far_below_the_siblings_a_baseline_may_be() -> None:
    entries = [expected(name)._replace(limits=Limits(peer_loss=0.25)) for name in "abcd"]
    site = {(one.layer, one.component): one for one in entries}
    records = [one for name in "abc" for one in runs(name, [200])]
    assert outlier(capture([*records, *runs("d", [150.1])], site), "d") == ""
    assert outlier(capture([*records, *runs("d", [149.9])], site), "d")


def test_siblings_without_a_candidate_are_known_by_their_baselines() -> None:
    accepted = capture([one for name in "abc" for one in runs(name, [200])], SITE).candidates
    known = {key: candidate.baseline for key, candidate in accepted.items()}
    captured = capture(runs("d", [80]), SITE, accepted=known)
    assert outlier(captured, "d") == "80.0 MB/s is 40 % of its peers' 200.0 MB/s"
    assert set(captured.candidates) == {key("d")}
    other = {key: baseline._replace(spec_hash="other") for key, baseline in known.items()}
    assert outlier(capture(runs("d", [80]), SITE, accepted=other), "d") == ""


def test_a_baseline_of_what_is_gone_is_nobodys_sibling() -> None:
    (gone,) = capture(runs("a", [200]), SITE).candidates.values()
    known = {Key("ost", "gone", "read", "single"): gone.baseline}
    assert outlier(capture(runs("d", [80]), SITE, accepted=known), "d") == ""


def test_another_group_is_no_sibling() -> None:
    records = [one for name in "abc" for one in runs(name, [200])] + runs("lonely", [20])
    assert outlier(capture(records, SITE), "lonely") == ""


def test_a_slower_kind_of_hardware_is_no_slow_sibling() -> None:
    ceiling = Reference(Ceiling(90e6, ("d",)), None)
    site = {**SITE, ("ost", "d"): expected("d")._replace(references={"read/single": ceiling})}
    records = [one for name in "abc" for one in runs(name, [200])] + runs("d", [80])
    assert outlier(capture(records, site), "d") == ""


@pytest.mark.parametrize(
    ("rates", "refused"),
    [
        ([140, 170], False),
        ([154, 156], True),
        ([140, 170, 140, 170, 140, 170, 155, 155], True),
        ([60, 90], True),
    ],
)
def test_a_median_that_is_not_known_well_is_an_outlier_only_where_it_is_far(
    rates: list[float], refused: bool
) -> None:
    records = [record for name in "abc" for record in runs(name, [200, 200])]
    assert bool(outlier(capture([*records, *runs("d", rates)], SITE), "d")) is refused


def test_an_even_share_of_what_all_can_have_is_no_outlier() -> None:
    records = [one for name in "abc" for one in runs(name, [200])] + runs("d", [150])

    def among(even_Bps: float) -> str:
        shared = Reference(Ceiling(800e6, ("link",), (), even_Bps), None)
        entries = [expected(name)._replace(references={"read/single": shared}) for name in "abcd"]
        return outlier(capture(records, {(one.layer, one.component): one for one in entries}), "d")

    assert among(160e6) == ""
    assert among(170e6) == "150.0 MB/s is 75 % of its peers' 200.0 MB/s"


def test_nothing_comes_of_nothing() -> None:
    assert capture([], SITE) == Captured({}, {})
