"""Capture: valid records under the newest conditions become candidates; baselines age."""

from __future__ import annotations

from datetime import date
from typing import Any, Optional

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import DEMONSTRATED, Baseline, Ceiling, Limits, Reference
from plumbline.model.record import Flag, Operation, Record
from plumbline.model.spec import ProbeSpec, terms
from plumbline.plan.baseline import Key, accept, refuse_below_floor
from plumbline.plan.capture import (
    REMOVE,
    RENEW,
    Ages,
    CaptureResult,
    ages,
    capture,
    newest_conditions,
)
from tests.package.measure.units import expectation
from tests.package.model.curves import declining
from tests.package.records import failed, record

SPEC = ProbeSpec("fio", 1 << 30, 60.0)
DAY = 86400.0


def expected(component: str, group: str = "scratch") -> Expectation:
    reference = Reference(Ceiling(250e6, (component,)), None)
    return expectation(component, group=group, spec=SPEC, references={"read/single": reference})


SITE = {("ost", name): expected(name) for name in "abcd"}
SITE["ost", "lonely"] = expected("lonely", "home")


def run(day: int, **changes: Any) -> Record:
    values = {"spec_hash": SPEC.hash(), "versions": {"client": "2.17.0"}, **changes}
    return record(started_at=day * DAY, run_id=f"run-{day}", **values)


def runs(component: str, rates_MBps: list[float]) -> list[Record]:
    return [run(day, component=component, rate=rate * 1e6) for day, rate in enumerate(rates_MBps)]


def key(component: str, operation: str = "read") -> Key:
    return Key("ost", component, operation, "single")


def outlier(captured: CaptureResult, component: str) -> str:
    return captured.candidates[key(component)].outlier


def test_valid_records_become_a_candidate() -> None:
    baseline = capture(runs("a", [200, 202, 198]), SITE).candidates[key("a")].baseline
    assert baseline.median == pytest.approx(200e6)
    assert baseline.spread == pytest.approx(0.0148, rel=0.01)
    assert (baseline.runs, baseline.first, baseline.last) == (3, "1970-01-01", "1970-01-03")
    assert (baseline.spec_hash, baseline.versions) == (SPEC.hash(), {"client": "2.17.0"})
    assert (baseline.accepted_by, baseline.reason) == ("", "")


def test_a_quantity_to_judge_is_captured_from_runs_before_it_was_judged() -> None:
    references = {"read/single": Reference(None, None), "read p99/single": Reference(None, None)}
    site = {("ost", "a"): expected("a")._replace(references=references)}
    records = [run(day, quantities={"p99": time}) for day, time in enumerate((0.04, 0.02, 0.05))]
    # the last run was recorded with it
    records += records[2].quantity_records(references)
    captured = capture(records, site)
    assert list(captured.candidates) == [key("a"), key("a", "read p99")]
    baseline = captured.candidates[key("a", "read p99")].baseline
    assert baseline.runs == 3
    assert 1 / baseline.median == pytest.approx(0.04)
    without = capture(records, SITE)
    assert (list(without.candidates), without.left_out["of a quantity that is not judged"]) == (
        [key("a")],
        1,
    )


def test_a_candidate_has_its_conditions() -> None:
    records = [run(day, fill=fill, spec=SPEC.to_json()) for day, fill in enumerate((0.1, 0.2, 0.3))]
    baseline = capture(records, SITE).candidates[key("a")].baseline
    assert baseline.terms == "fio, 1 GiB, transfer 1 MiB, depth 8, direct"
    assert (baseline.host, baseline.tool, baseline.fill) == ("client1", "fio fio-3.39", 0.2)


def test_a_parallel_run_has_a_profile_that_one_odd_run_does_not_change() -> None:
    site = {("fs", "scratch"): expected("scratch")._replace(layer="fs")}
    rows = [(400e6,) * 30, (200e6,) * 90, tuple(declining(40)), (300e6,) * 30, (1e6,)]
    records = [
        run(day, layer="fs", component="scratch", profile=curve) for day, curve in enumerate(rows)
    ]
    (candidate,) = capture(records, site).candidates.values()
    assert candidate.baseline.profile == pytest.approx((1.0,) * 20, abs=0.01)


def test_other_layers_and_short_curves_have_no_profile() -> None:
    site = {**SITE, ("fs", "a"): expected("a")._replace(layer="fs")}
    records = [run(0, profile=(1e8,) * 60), run(0, id="2", layer="fs", profile=(1e8,) * 3)]
    candidates = capture(records, site).candidates
    assert [candidate.baseline.profile for candidate in candidates.values()] == [(), ()]


def test_a_weak_candidate_names_the_reason() -> None:
    few = capture(runs("a", [200, 200, 200]), SITE).candidates[key("a")]
    assert few.weak == "rests on 3 runs of 5 needed"
    wide = capture(runs("a", [200, 160, 240, 200, 150, 230]), SITE).candidates[key("a")]
    assert wide.weak == "spreads by 24 %, more than 10 %"
    assert capture(runs("a", [200] * 5), SITE).candidates[key("a")].weak == ""


def test_the_counters_of_a_server_are_not_left_out() -> None:
    assert not capture([run(1, component="oss1", layer="server")], SITE).left_out


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (failed(component="a", spec_hash=SPEC.hash()), "without a rate"),
        (run(9, flags=(Flag.DEGRADED,)), "flagged degraded"),
        (run(9, flags=(Flag.FAILED_OVER,)), "flagged failed_over"),
        (run(9, flags=(Flag.SHORT,)), "flagged short"),
        (run(9, coverage=0.5), "contended"),
        (run(9, rate=263e6), "above the ceiling"),
        (run(9, spec_hash="other"), "taken on other terms than the policy's"),
        (run(9, component="z"), "of a component that the topology does not have"),
        (run(-9, versions={"client": "2.15.0"}), "taken under earlier conditions"),
        (run(-9, host="client2"), "taken under earlier conditions"),
        (run(-9, tool=None), "taken under earlier conditions"),
        (run(-9, fill=0.9), "taken under earlier conditions"),
    ],
)
def test_an_unusable_record_is_left_out(bad: Record, reason: str) -> None:
    good = [good_run._replace(fill=0.5) for good_run in runs("a", [200, 200, 200])]
    captured = capture([*good, bad], SITE)
    assert captured.left_out == {reason: 1}
    assert captured.candidates[key("a")].baseline.runs == 3


def test_only_records_of_the_newest_versions_count() -> None:
    old = [run(day, rate=100e6, versions={"client": "2.15.0"}) for day in range(5)]
    new = [run(9, rate=200e6)]
    baseline = capture([*new, *old], SITE).candidates[key("a")].baseline
    assert (baseline.runs, baseline.versions) == (1, {"client": "2.17.0"})


def test_only_the_last_runs_count() -> None:
    captured = capture(runs("a", [100.0] * 5 + [200.0] * 3), SITE, last=3)
    assert captured.candidates[key("a")].baseline.median == pytest.approx(200e6)
    assert captured.left_out == {"older than the last runs": 5}


def test_a_duplicate_record_counts_once() -> None:
    once = runs("a", [200, 202])
    assert capture([*once, *once], SITE).candidates[key("a")].baseline.runs == 2


def test_operations_have_separate_candidates() -> None:
    records = [*runs("a", [200]), run(0, operation=Operation.WRITE, rate=90e6)]
    assert set(capture(records, SITE).candidates) == {key("a"), key("a", "write")}


def test_a_slow_sibling_is_an_outlier() -> None:
    records = [item for name in "abc" for item in runs(name, [200])] + runs("d", [80])
    captured = capture(records, SITE)
    assert outlier(captured, "d") == "80.0 MB/s is 40 % of its peers' 200.0 MB/s"
    assert not any(outlier(captured, name) for name in "abc")


def test_a_candidate_up_to_ten_percent_below_its_siblings_is_no_outlier() -> None:
    records = [item for name in "abc" for item in runs(name, [200])]
    assert outlier(capture([*records, *runs("d", [180.1])], SITE), "d") == ""
    assert outlier(capture([*records, *runs("d", [179.9])], SITE), "d")


def test_the_limit_of_an_outlier_follows_the_policy() -> None:
    entries = [expected(name)._replace(limits=Limits(peer_loss=0.25)) for name in "abcd"]
    site = {(entry.layer, entry.component): entry for entry in entries}
    records = [item for name in "abc" for item in runs(name, [200])]
    assert outlier(capture([*records, *runs("d", [150.1])], site), "d") == ""
    assert outlier(capture([*records, *runs("d", [149.9])], site), "d")


def test_siblings_without_a_candidate_count_by_their_baselines() -> None:
    accepted = capture([item for name in "abc" for item in runs(name, [200])], SITE).candidates
    baselines = {key: candidate.baseline for key, candidate in accepted.items()}
    captured = capture(runs("d", [80]), SITE, accepted=baselines)
    assert outlier(captured, "d") == "80.0 MB/s is 40 % of its peers' 200.0 MB/s"
    assert set(captured.candidates) == {key("d")}
    other = {key: baseline._replace(spec_hash="other") for key, baseline in baselines.items()}
    assert outlier(capture(runs("d", [80]), SITE, accepted=other), "d") == ""


def test_a_baseline_of_a_removed_component_is_no_sibling() -> None:
    (gone,) = capture(runs("a", [200]), SITE).candidates.values()
    baselines = {Key("ost", "gone", "read", "single"): gone.baseline}
    assert outlier(capture(runs("d", [80]), SITE, accepted=baselines), "d") == ""


def test_a_member_of_another_group_is_no_sibling() -> None:
    records = [item for name in "abc" for item in runs(name, [200])] + runs("lonely", [20])
    assert outlier(capture(records, SITE), "lonely") == ""


def test_slower_hardware_is_no_outlier() -> None:
    ceiling = Reference(Ceiling(90e6, ("d",)), None)
    site = {**SITE, ("ost", "d"): expected("d")._replace(references={"read/single": ceiling})}
    records = [item for name in "abc" for item in runs(name, [200])] + runs("d", [80])
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
def test_an_uncertain_median_is_an_outlier_only_far_below(
    rates: list[float], refused: bool
) -> None:
    records = [record for name in "abc" for record in runs(name, [200, 200])]
    assert bool(outlier(capture([*records, *runs("d", rates)], SITE), "d")) is refused


def test_a_candidate_at_its_even_share_is_no_outlier() -> None:
    records = [item for name in "abc" for item in runs(name, [200])] + runs("d", [150])

    def outlier_with(even: float) -> str:
        shared = Reference(Ceiling(800e6, ("link",), (), even), None)
        entries = [expected(name)._replace(references={"read/single": shared}) for name in "abcd"]
        return outlier(
            capture(records, {(entry.layer, entry.component): entry for entry in entries}), "d"
        )

    assert outlier_with(160e6) == ""
    assert outlier_with(170e6) == "150.0 MB/s is 75 % of its peers' 200.0 MB/s"


def test_without_records_there_are_no_candidates() -> None:
    assert capture([], SITE) == CaptureResult({}, {})


VERSIONS = {"client": "2.17.0"}
TODAY = date(2026, 11, 21)
BASE = Baseline(
    200e6, 0.01, 12, "2026-11-01", "2026-11-20", SPEC.hash(), VERSIONS, "ada", "new disks"
)._replace(terms=terms(SPEC.to_json()), host="client1", tool="fio fio-3.39", fill=0.31)


def aged(baseline: Baseline, records: Any = (), site: Any = None) -> tuple[str, ...]:
    site = site or SITE
    result = ages({key("a"): baseline}, site, newest_conditions(records, site), TODAY)
    return result.aged[0].reasons if result.aged else ()


def test_a_baseline_of_today_is_not_aged() -> None:
    assert aged(BASE) == ()
    assert aged(BASE, [run(9, fill=0.4)]) == ()


def test_a_demonstrated_rate_does_not_age_and_is_no_baseline() -> None:
    demonstrated = {key("a"): BASE._replace(spec_hash=DEMONSTRATED, last="2007-03-13")}
    result = ages(demonstrated, SITE, {}, TODAY)
    assert (result.total, result.aged, key("a") in result.missing) == (1, (), True)


@pytest.mark.parametrize(
    ("last", "reasons"),
    [
        ("2026-05-26", ()),
        ("2026-05-25", ()),
        ("2026-05-24", ("181 d old, limit 180 d",)),
        ("2027-01-01", ("dated 41 d in the future",)),
    ],
)
def test_a_baseline_ages_by_the_date_of_its_last_run(last: str, reasons: tuple[str, ...]) -> None:
    assert aged(BASE._replace(last=last)) == reasons


def test_the_maximum_age_is_that_of_the_component() -> None:
    site = {("ost", "a"): expected("a")._replace(limits=Limits(max_age_s=30 * 86400.0))}
    assert aged(BASE._replace(last="2026-10-01"), site=site) == ("51 d old, limit 30 d",)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"versions": {"client": "2.18.0"}}, ("client 2.17.0 -> 2.18.0",)),
        ({"host": "client2", "fill": 0.9}, ("host client1 -> client2", "fill 31 % -> 90 %")),
        ({"versions": {"client": "2.18.0"}, "spec_hash": "other"}, ()),
        ({"versions": {"client": "2.18.0"}, "flags": (Flag.FAILED_OVER,)}, ()),
    ],
)
def test_the_newest_valid_record_gives_the_conditions(
    changes: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    before, after = run(8, fill=0.31), run(9, **changes)
    assert aged(BASE, [after, before]) == reasons


def test_other_terms_than_the_policys_age_a_baseline_without_any_record() -> None:
    other = SPEC._replace(transfer_bytes=4 << 20)
    baseline = BASE._replace(spec_hash=other.hash(), terms=terms(other.to_json()))
    assert aged(baseline) == ("terms transfer 4 MiB -> transfer 1 MiB",)


def test_a_baseline_of_a_removed_measurement_is_to_be_removed() -> None:
    gone = {Key("ost", "z", "read", "single"): BASE, key("a", "reread"): BASE, key("a"): BASE}
    aging = ages(gone, SITE, {}, TODAY)
    assert [(old.key.component, old.remedy) for old in aging.aged] == [("a", REMOVE), ("z", REMOVE)]
    assert aging.total == 3


def test_measurements_without_a_baseline_are_listed() -> None:
    result = ages({key("a"): BASE}, SITE, {}, TODAY)
    assert [item.component for item in result.missing] == ["b", "c", "d", "lonely"]
    empty = ages({}, {("ost", "a"): expected("a")._replace(references={})}, {}, TODAY)
    assert empty == Ages(0, (), ())


def test_the_json_has_the_reasons_and_the_remedy() -> None:
    result = ages({key("a"): BASE._replace(last="2026-01-01")}, SITE, {}, TODAY)
    (old,) = result.to_json()["aged"]
    assert old["remedy"] == RENEW
    assert (old["component"], old["age_days"]) == ("a", 324)


CEILING = Ceiling(250e6, ("disk1",))


def site(
    *names: str, reference: Reference = Reference(CEILING, None), cap_Bps: Optional[float] = None
) -> dict[tuple[str, str], Expectation]:
    """Return targets whose floor is half of 250 MB/s."""
    return {
        ("ost", name): expected(name)._replace(
            references={"read/single": reference},
            limits=Limits(min_efficiency=0.5),
            spec=SPEC._replace(rate_cap_Bps=cap_Bps),
        )
        for name in names
    }


def captured(site_: dict[tuple[str, str], Expectation], **rates_MBps: float) -> CaptureResult:
    records = [
        record._replace(id=f"{name}{number}", spec_hash=site_["ost", name].spec.hash())
        for name, rate in rates_MBps.items()
        for number, record in enumerate(runs(name, [rate] * 5))
    ]
    return capture(records, site_)


def below(result: CaptureResult, name: str = "a") -> str:
    return result.candidates[key(name)].baseline.below_floor


@pytest.mark.parametrize(
    ("rate_MBps", "text"),
    [
        (55, "55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 %"),
        (124.9, "124.9 MB/s is 50 % of the ceiling 250.0 MB/s, floor 50 %"),
        (125, ""),
        (125.1, ""),
    ],
)
def test_a_median_below_the_floor_is_marked(rate_MBps: float, text: str) -> None:
    assert below(captured(site("a"), a=rate_MBps)) == text


def test_a_candidate_without_floor_or_at_its_share_is_not_marked() -> None:
    assert below(captured(site("a", reference=Reference(None, None)), a=10)) == ""
    even = Reference(CEILING._replace(even=60e6), None)
    assert below(captured(site("a", reference=even), a=60)) == ""
    shared = site("a", reference=Reference(CEILING._replace(share=60e6), None))
    assert below(captured(shared, a=30)) == ""
    assert below(captured(shared, a=29)) == "29.0 MB/s is 48.3 % of its share 60.0 MB/s, floor 50 %"
    capped = site("a", cap_Bps=100e6)
    assert [below(captured(capped, a=rate)) == "" for rate in (49.9, 50)] == [False, True]


@pytest.mark.parametrize(
    ("rate_MBps", "text"),
    [(149, "149.0 MB/s is 99.3 % of its goal 150.0 MB/s"), (150, "")],
)
def test_a_missed_goal_is_marked(rate_MBps: float, text: str) -> None:
    promised = Reference(CEILING, None, goal=150e6)
    assert below(captured(site("a", reference=promised), a=rate_MBps)) == text


def test_a_part_of_a_goal_is_missed_if_the_group_misses_its_sum() -> None:
    promised = Reference(CEILING, None, goal_part=150e6)
    met = captured(site("a", "b", reference=promised), a=145, b=155)
    assert [below(met, name) for name in "ab"] == ["", ""]
    missed = captured(site("a", "b", reference=promised), a=145, b=154)
    assert below(missed, "a") == "145.0 MB/s is 96.7 % of its part of the goal 150.0 MB/s"
    assert below(missed, "b") == ""


def test_candidates_below_their_floor_are_refused_without_an_explicit_acceptance() -> None:
    candidates = captured(site("a", "b", "c"), a=55, b=55, c=55).candidates
    with pytest.raises(DocumentError) as caught:
        refuse_below_floor(candidates, [])
    assert "ost a read: 55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 % (and 2 more)" in (
        str(caught.value)
    )
    assert "--below-floor" in str(caught.value)
    with pytest.raises(DocumentError, match=r"ost b read: 55\.0 MB/s"):
        refuse_below_floor(candidates, ["b"])
    merged = accept({}, candidates, [], "ada", "half of the shelves arrive in May")
    assert merged[key("a")].below_floor == "55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 %"


def test_candidates_at_their_floor_are_not_refused() -> None:
    candidates = captured(site("a", "b"), a=125, b=55).candidates
    refuse_below_floor(candidates, ["a"])
    refuse_below_floor({key("a"): candidates[key("a")]}, [])
