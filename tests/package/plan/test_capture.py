"""Only sound records of the newest conditions become candidates; baselines age."""

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
from tests.package.parallel.curves import declining
from tests.package.records import failed, record

SPEC = ProbeSpec("fio", 1 << 30, 60.0)
DAY = 86400.0


def expected(component: str, group: str = "scratch") -> Expectation:
    reference = Reference(Ceiling(250e6, (component,)), None)
    return expectation(component, group=group, spec=SPEC, references={"read/single": reference})


SITE = {("ost", name): expected(name) for name in "abcd"}
SITE["ost", "lonely"] = expected("lonely", "home")


def run(day: int, **changes: Any) -> Record:
    said = {"spec_hash": SPEC.hash(), "versions": {"client": "2.17.0"}, **changes}
    return record(started_at=day * DAY, run_id=f"run-{day}", **said)


def runs(component: str, rates_MBps: list[float]) -> list[Record]:
    return [run(day, component=component, rate=rate * 1e6) for day, rate in enumerate(rates_MBps)]


def key(component: str, operation: str = "read") -> Key:
    return Key("ost", component, operation, "single")


def outlier(captured: CaptureResult, component: str) -> str:
    return captured.candidates[key(component)].outlier


def test_sound_records_become_a_candidate() -> None:
    baseline = capture(runs("a", [200, 202, 198]), SITE).candidates[key("a")].baseline
    assert baseline.median == pytest.approx(200e6)
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
        run(day, layer="fs", component="scratch", profile=curve) for day, curve in enumerate(rows)
    ]
    (candidate,) = capture(records, site).candidates.values()
    assert candidate.baseline.profile == pytest.approx((1.0,) * 20, abs=0.01)


def test_other_layers_and_short_curves_have_no_profile() -> None:
    site = {**SITE, ("fs", "a"): expected("a")._replace(layer="fs")}
    records = [run(0, profile=(1e8,) * 60), run(0, id="2", layer="fs", profile=(1e8,) * 3)]
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
        (run(9, rate=263e6), "above the ceiling"),
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
    sound = run(9, flags=(Flag.CONFIDENCE_MISSED,), coverage=0.95, rate=260e6)
    assert capture([sound], SITE).left_out == {}


def test_the_newest_versions_count_even_when_they_are_fewer() -> None:
    old = [run(day, rate=100e6, versions={"client": "2.15.0"}) for day in range(5)]
    new = [run(9, rate=200e6)]
    baseline = capture([*new, *old], SITE).candidates[key("a")].baseline
    assert (baseline.runs, baseline.versions) == (1, {"client": "2.17.0"})


def test_the_last_runs_count() -> None:
    captured = capture(runs("a", [100.0] * 5 + [200.0] * 3), SITE, last=3)
    assert captured.candidates[key("a")].baseline.median == pytest.approx(200e6)
    assert captured.left_out == {"older than the last runs": 5}


def test_a_record_given_twice_counts_once() -> None:
    once = runs("a", [200, 202])
    assert capture([*once, *once], SITE).candidates[key("a")].baseline.runs == 2


def test_operations_are_kept_apart() -> None:
    records = [*runs("a", [200]), run(0, operation=Operation.WRITE, rate=90e6)]
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

    def among(even: float) -> str:
        shared = Reference(Ceiling(800e6, ("link",), (), even), None)
        entries = [expected(name)._replace(references={"read/single": shared}) for name in "abcd"]
        return outlier(capture(records, {(one.layer, one.component): one for one in entries}), "d")

    assert among(160e6) == ""
    assert among(170e6) == "150.0 MB/s is 75 % of its peers' 200.0 MB/s"


def test_nothing_comes_of_nothing() -> None:
    assert capture([], SITE) == CaptureResult({}, {})


VERSIONS = {"client": "2.17.0"}
TODAY = date(2026, 11, 21)
HELD = Baseline(
    200e6, 0.01, 12, "2026-11-01", "2026-11-20", SPEC.hash(), VERSIONS, "ada", "new disks"
)._replace(terms=terms(SPEC.to_json()), host="client1", tool="fio fio-3.39", fill=0.31)


def aged(baseline: Baseline, records: Any = (), site: Any = None) -> tuple[str, ...]:
    site = site or SITE
    found = ages({key("a"): baseline}, site, newest_conditions(records, site), TODAY)
    return found.aged[0].reasons if found.aged else ()


def test_a_baseline_of_today_holds() -> None:
    assert aged(HELD) == ()
    assert aged(HELD, [run(9, fill=0.4)]) == ()


def test_what_was_demonstrated_by_other_means_is_not_renewed_and_stands_for_no_baseline() -> None:
    shown = {key("a"): HELD._replace(spec_hash=DEMONSTRATED, last="2007-03-13")}
    found = ages(shown, SITE, {}, TODAY)
    assert (found.total, found.aged, key("a") in found.missing) == (1, (), True)


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
    assert aged(HELD._replace(last=last)) == reasons


def test_the_limit_is_that_of_the_component() -> None:
    site = {("ost", "a"): expected("a")._replace(limits=Limits(max_age_s=30 * 86400.0))}
    assert aged(HELD._replace(last="2026-10-01"), site=site) == ("51 d old, limit 30 d",)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"versions": {"client": "2.18.0"}}, ("client 2.17.0 -> 2.18.0",)),
        ({"host": "client2", "fill": 0.9}, ("host client1 -> client2", "fill 31 % -> 90 %")),
        ({"versions": {"client": "2.18.0"}, "spec_hash": "other"}, ()),
        ({"versions": {"client": "2.18.0"}, "flags": (Flag.FAILED_OVER,)}, ()),
    ],
)
def test_the_newest_sound_record_tells_the_conditions(
    changes: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    before, after = run(8, fill=0.31), run(9, **changes)
    assert aged(HELD, [after, before]) == reasons


def test_other_terms_than_the_policys_show_without_any_record() -> None:
    other = SPEC._replace(transfer_bytes=4 << 20)
    baseline = HELD._replace(spec_hash=other.hash(), terms=terms(other.to_json()))
    assert aged(baseline) == ("terms transfer 4 MiB -> transfer 1 MiB",)


def test_what_is_not_measured_any_more_is_to_be_removed() -> None:
    gone = {Key("ost", "z", "read", "single"): HELD, key("a", "reread"): HELD, key("a"): HELD}
    found = ages(gone, SITE, {}, TODAY)
    assert [(one.key.component, one.remedy) for one in found.aged] == [("a", REMOVE), ("z", REMOVE)]
    assert found.total == 3


def test_what_is_measured_without_a_baseline_is_listed() -> None:
    found = ages({key("a"): HELD}, SITE, {}, TODAY)
    assert [one.component for one in found.missing] == ["b", "c", "d", "lonely"]
    empty = ages({}, {("ost", "a"): expected("a")._replace(references={})}, {}, TODAY)
    assert empty == Ages(0, (), ())


def test_programs_get_the_reasons_and_the_remedy() -> None:
    found = ages({key("a"): HELD._replace(last="2026-01-01")}, SITE, {}, TODAY)
    (one,) = found.to_json()["aged"]
    assert one["remedy"] == RENEW
    assert (one["component"], one["age_days"]) == ("a", 324)


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


def captured(of: dict[tuple[str, str], Expectation], **rates_MBps: float) -> CaptureResult:
    every = [
        record._replace(id=f"{name}{number}", spec_hash=of["ost", name].spec.hash())
        for name, rate in rates_MBps.items()
        for number, record in enumerate(runs(name, [rate] * 5))
    ]
    return capture(every, of)


def below(found: CaptureResult, name: str = "a") -> str:
    return found.candidates[key(name)].baseline.below_floor


@pytest.mark.parametrize(
    ("rate_MBps", "text"),
    [
        (55, "55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 %"),
        (124.9, "124.9 MB/s is 50 % of the ceiling 250.0 MB/s, floor 50 %"),
        (125, ""),
        (125.1, ""),
    ],
)
def test_a_median_below_the_floor_is_said(rate_MBps: float, text: str) -> None:
    assert below(captured(site("a"), a=rate_MBps)) == text


def test_what_nothing_is_asked_of_is_below_nothing() -> None:
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
def test_a_promise_that_is_missed_is_said(rate_MBps: float, text: str) -> None:
    promised = Reference(CEILING, None, goal=150e6)
    assert below(captured(site("a", reference=promised), a=rate_MBps)) == text


def test_a_part_of_a_promise_is_missed_where_the_group_misses_its_sum() -> None:
    promised = Reference(CEILING, None, goal_part=150e6)
    met = captured(site("a", "b", reference=promised), a=145, b=155)
    assert [below(met, name) for name in "ab"] == ["", ""]
    missed = captured(site("a", "b", reference=promised), a=145, b=154)
    assert below(missed, "a") == "145.0 MB/s is 96.7 % of its part of the goal 150.0 MB/s"
    assert below(missed, "b") == ""


def test_candidates_below_their_floor_are_refused_until_somebody_says_so() -> None:
    found = captured(site("a", "b", "c"), a=55, b=55, c=55).candidates
    with pytest.raises(DocumentError) as caught:
        refuse_below_floor(found, [])
    assert "ost a read: 55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 % (and 2 more)" in (
        str(caught.value)
    )
    assert "--below-floor" in str(caught.value)
    with pytest.raises(DocumentError, match=r"ost b read: 55\.0 MB/s"):
        refuse_below_floor(found, ["b"])
    taken = accept({}, found, [], "ada", "half of the shelves arrive in May")
    assert taken[key("a")].below_floor == "55.0 MB/s is 22 % of the ceiling 250.0 MB/s, floor 50 %"


def test_candidates_at_their_floor_are_not_refused() -> None:
    found = captured(site("a", "b"), a=125, b=55).candidates
    refuse_below_floor(found, ["a"])
    refuse_below_floor({key("a"): found[key("a")]}, [])
