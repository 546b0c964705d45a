"""All targets at once give one verdict, which names the slowest target."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.judge.component import rulings_on
from plumbline.judge.fs import Ruled, decide_whole, file_systems, next_test
from plumbline.judge.phrases import Finding, Ruling
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Reference
from plumbline.model.record import Flag, Operation, Outcome
from plumbline.model.series import Running, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import DAY_S, NOW, judge_file_system, snapshot
from tests.package.parallel_runs import ACCEPTED, CEILING, expected, ran


def judged(
    rates: Sequence[float],
    entries: Optional[Sequence[Expectation]] = None,
    running: Sequence[Running] = (),
    **changes: Any,
) -> Verdict:
    memory = snapshot(*ran(rates, **changes), running=running)
    return judge_file_system(entries or expected(), "scratch", memory, NOW)


def test_a_healthy_file_system_shows_its_rates_and_its_slowest_target() -> None:
    verdict = judged([200e6, 198e6, 201e6, 200e6])
    assert (verdict.layer, verdict.component, verdict.group) == ("fs", "scratch", True)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == (
        "file system scratch write together 792.0 MB/s, read together 792.0 MB/s, 98 % and 98 % of "
        "baseline; slowest of 4 targets OST1, read together 99 % of its peers"
    )


def test_one_slow_target_is_one_alarm_that_names_it() -> None:
    verdict = judged([200e6, 201e6, 80e6, 200e6])
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.BELOW_LEVEL)
    assert verdict.sentence == (
        "file system scratch - OST2 write together 80.0 MB/s, 40 % of baseline 202.1 MB/s (12 runs "
        "to 2026-11-20), ceiling 250.0 MB/s by disk disk; as a whole write together 320.0 MB/s, "
        "40 % of baseline 808.4 MB/s (12 runs to 2026-11-20), ceiling 900.0 MB/s by nic client1-nic"
    )
    assert verdict.ratio_baseline == pytest.approx(80 / 202.1)


def test_a_quantity_of_a_target_is_one_alarm_that_names_it() -> None:
    p99 = Operation("write p99")
    entries = [
        entry._replace(
            references={
                **entry.references,
                "write p99/together": Reference(None, ACCEPTED._replace(median=100.0 * factor)),
            }
        )
        for entry, factor in zip(expected(), (1, 1, 1, 1, 4))
    ]
    times = [
        item._replace(latest=item.latest._replace(operation=p99))
        for item in ran([100.0, 100.0, 40.0, 100.0])
        if item.latest.operation is Operation.WRITE
    ]
    verdict = judge_file_system(entries, "scratch", snapshot(*ran([202e6] * 4), *times), NOW)
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith(
        "file system scratch - OST2 write p99 together 25.0 ms, 2.5 times baseline 10.0 ms "
        "(12 runs to 2026-11-20); as a whole write p99 together 6.2 ms, 2.5 times baseline 2.5 ms"
    )
    figures = {figure.label: figure.value for figure in verdict.figures}
    assert figures["write_p99_together_s"] == pytest.approx(0.00625)
    assert figures["write_p99_together_slowest"] == pytest.approx(40.0)


def test_a_slow_target_is_found_in_a_first_run_without_any_baseline() -> None:
    verdict = judged([200e6, 201e6, 80e6, 200e6], expected(baseline=False))
    assert verdict.state is State.CRITICAL
    assert "scratch - OST2 write together 80.0 MB/s, no baseline yet, 40 % of" in verdict.sentence
    assert "as a whole write together measured 320.0 MB/s but nothing to" in verdict.sentence


def test_a_first_run_of_equal_targets_is_unknown_because_all_may_be_slow() -> None:
    verdict = judged([200e6] * 4, expected(baseline=False))
    assert verdict.state is State.UNKNOWN
    assert "run plumbline baseline capture" in verdict.sentence


@pytest.mark.parametrize("baseline", [True, False])
def test_a_target_at_its_even_share_is_not_slow_because_others_ended_earlier(
    baseline: bool,
) -> None:
    unlike = [250e6, 250e6, 120e6, 250e6]
    assert judged(unlike, expected(baseline=baseline)).state in (State.WARNING, State.CRITICAL)
    verdict = judged(unlike, expected(baseline=baseline, even=130e6))
    assert "OST2 write" not in verdict.sentence
    short = judged(unlike, expected(baseline=baseline, even=135e6))
    assert "scratch - OST2 write together 120.0 MB/s" in short.sentence


def test_several_slow_targets_are_named_the_slowest_first() -> None:
    sentence = judged([90e6, 200e6, 80e6, 200e6]).sentence
    assert sentence.startswith("file system scratch - OST2 write together 80.0 MB/s")
    assert "likewise OST0" in sentence


def test_a_loss_that_all_targets_share_is_a_loss_of_the_whole() -> None:
    verdict = judged([120e6] * 4)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_LEVEL)
    assert verdict.sentence.startswith(
        "file system scratch - as a whole write together 480.0 MB/s, 59 % of baseline"
    )


STEEP = {"details": {"form": [160, 150, 140, 120, 100, 80, 70, 60, 60, 60]}}


def with_flat_profiles() -> list[Expectation]:
    """Return the expectations with a flat profile in every baseline."""

    def with_profile(entry: Expectation) -> Expectation:
        references = {
            step: reference._replace(
                baseline=reference.baseline and reference.baseline._replace(profile=(1.0,) * 20)
            )
            for step, reference in entry.references.items()
        }
        return entry._replace(references=references)

    return [with_profile(entry) for entry in expected()]


def test_a_whole_that_declines_is_reported_once() -> None:
    everywhere: dict[str, Any] = dict.fromkeys(("OST0", "OST1", "OST2", "OST3", "scratch"), STEEP)
    verdict = judged([202e6] * 4, with_flat_profiles(), **everywhere)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.PROFILE)
    assert verdict.sentence.startswith(
        "file system scratch - as a whole write together 808.0 MB/s, 100 % of baseline 808.4 MB/s"
    )
    assert "67 % of the bytes were moved in the first 50 % of the time, 50 % in" in verdict.sentence
    assert "OST" not in verdict.sentence


def test_a_single_target_that_declines_is_named() -> None:
    verdict = judged([202e6] * 4, with_flat_profiles(), OST1=STEEP)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.PROFILE)
    assert verdict.sentence.startswith("file system scratch - OST1 write together 202.0 MB/s")
    assert "17 % apart (limit 10 %)" in verdict.sentence
    assert "as a whole" not in verdict.sentence


def test_a_degraded_target_explains_a_slow_whole() -> None:
    verdict = judged([200e6, 200e6, 60e6, 200e6], OST2={"flags": (Flag.DEGRADED,)})
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.KNOWN_STATE)
    assert not verdict.counts
    assert "limited by OST2, write together 60.0 MB/s" in verdict.sentence
    assert "degraded (rebuilding)" in verdict.sentence


def test_a_contended_target_explains_a_slow_whole() -> None:
    verdict = judged([200e6, 200e6, 60e6, 200e6], OST2={"coverage": 0.4})
    assert (verdict.state, verdict.reason) == (State.OK, Reason.CONTENDED)
    assert not verdict.counts
    assert "limited by OST2" in verdict.sentence
    assert "contended: coverage 0.40" in verdict.sentence


def test_a_target_that_hangs_is_critical_and_named() -> None:
    hung = {"outcome": Outcome.HUNG, "reason": "the rank did not end"}
    whole = {"outcome": Outcome.HUNG, "reason": "1 of 4 ranks did not end"}
    verdict = judged([200e6] * 4, OST1=hung, scratch=whole)
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.HUNG)
    assert "scratch - OST1 write together hung on" in verdict.sentence


def test_a_skipped_target_is_named_once() -> None:
    skipped = {"outcome": Outcome.SKIPPED}
    whole = {**skipped, "reason": "OST1 took no part, so there is no figure of all: it is full"}
    verdict = judged([200e6] * 4, OST1={**skipped, "reason": "it is full"}, scratch=whole)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.SKIPPED)
    assert verdict.sentence.count("it is full") == 1


def test_a_run_that_does_not_end_hangs() -> None:
    verdict = judged([200e6] * 4, running=[Running("fs", "scratch", NOW - 7200)])
    assert (verdict.state, verdict.group) == (State.CRITICAL, True)
    assert "see systemctl status plumbline-fs.service" in verdict.sentence


def test_a_run_by_hand_on_other_terms_is_unknown() -> None:
    verdict = judged([200e6] * 4, scratch={"spec_hash": "another"})
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.OTHER_TERMS)
    assert "by hand, on other terms than the policy's; run systemctl start plumbline-fs" in (
        verdict.sentence
    )


def test_a_file_system_that_was_never_measured_is_unknown() -> None:
    verdict = judge_file_system(expected(), "scratch", snapshot(), NOW)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NEVER_MEASURED)
    assert "never recorded on client1; run systemctl start plumbline-fs" in verdict.sentence


def test_performance_data_are_the_rates_of_the_whole_and_the_slowest_share() -> None:
    figures = {figure.label: figure for figure in judged([200e6, 200e6, 100e6, 200e6]).figures}
    assert list(figures) == [
        *(f"{operation}_together_Bps" for operation in ("write", "read")),
        *(f"{operation}_together_slowest" for operation in ("write", "read")),
    ]
    assert figures["write_together_Bps"].value == 400e6
    assert figures["write_together_Bps"].maximum == 900e6
    slowest = figures["write_together_slowest"]
    assert (slowest.value, slowest.unit) == (50.0, "%")
    assert (slowest.warning, slowest.critical) == ("80:", "50:")


def test_the_evidence_shows_the_whole_and_every_target() -> None:
    evidence = "\n".join(judged([200e6] * 4).evidence)
    assert "write together 800.0 MB/s" in evidence
    assert "OST3 read together 200.0 MB/s" in evidence


def test_a_whole_that_only_lacks_a_baseline_does_not_count() -> None:
    assert judged([200e6] * 4).counts
    assert not judged([200e6] * 4, expected(baseline=False)).counts
    failed = {"outcome": Outcome.FAILED, "reason": "no answer"}
    assert judged([200e6] * 4, expected(baseline=False), OST1=failed).counts


def test_declining_writes_of_a_target_and_reads_of_the_whole_are_both_named() -> None:
    """The whole's read declines and the target's write: neither explains the other."""
    runs = [
        series_._replace(latest=series_.latest._replace(details=STEEP["details"]))
        if (series_.latest.component, series_.latest.operation)
        in (("scratch", Operation.READ), ("OST1", Operation.WRITE))
        else series_
        for series_ in ran([202e6] * 4)
    ]
    verdict = judge_file_system(with_flat_profiles(), "scratch", snapshot(*runs), NOW)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.PROFILE)
    assert "- OST1 write together 202.0 MB/s" in verdict.sentence
    assert "as a whole read together 808.0 MB/s" in verdict.sentence


SMALL = "scratch:mpiio-shared-10k"
LARGE = "scratch:posix-fpp-1m2"


def with_tests() -> list[Expectation]:
    """Return the file system with two further tests, with baselines of a fifth of its own."""
    limits = expected()[0].limits._replace(stale_after_s=14 * DAY_S)
    entries = [entry._replace(limits=limits) for entry in expected()]
    whole = entries[-1]
    references = {
        step: reference._replace(baseline=reference.baseline._replace(median=160e6))
        for step, reference in whole.references.items()
        if reference.baseline
    }
    return entries + [
        whole._replace(
            component=name,
            group=f"{name} as a whole",
            references=references,
            target={**whole.target, "file_system": "scratch", "test": name.partition(":")[2]},
        )
        for name in (SMALL, LARGE)
    ]


def runs_of_tests(rates: Mapping[str, float], ages_days: Mapping[str, float] = {}) -> list[Series]:
    """Return a healthy run of the whole and runs of further tests, some days ago."""
    runs = ran([200e6] * 4, NOW - 300 - DAY_S * ages_days.get("scratch", 0))
    for name, rate in rates.items():
        of_test = ran([rate / 4] * 4, NOW - 300 - DAY_S * ages_days.get(name, 0))
        runs += [
            run._replace(latest=run.latest._replace(component=name))
            for run in of_test
            if run.latest.component == "scratch"
        ]
    return runs


def judged_tests(rates: Mapping[str, float]) -> Verdict:
    return judge_file_system(with_tests(), "scratch", snapshot(*runs_of_tests(rates)), NOW)


def test_a_loss_of_small_calls_alone_names_its_test() -> None:
    verdict = judged_tests({SMALL: 60e6, LARGE: 159e6})
    assert (verdict.component, verdict.state) == ("scratch", State.CRITICAL)
    assert verdict.sentence == (
        "file system scratch - test mpiio-shared-10k write together 60.0 MB/s, 38 % of baseline "
        "160.0 MB/s (12 runs to 2026-11-20), ceiling 900.0 MB/s by nic client1-nic; as a whole "
        "write together 800.0 MB/s, read together 800.0 MB/s, 99 % and 99 % of baseline"
    )


def test_a_low_test_without_an_alarm_yet_is_named_too() -> None:
    def watching(entry: Expectation, rulings: Sequence[Ruling]) -> tuple[Expectation, list[Ruling]]:
        return entry, [
            ruling._replace(finding=Finding(State.OK, Reason.WATCHED, "watching: read together"))
            for ruling in rulings[1:]
        ]

    memory = snapshot(*runs_of_tests({SMALL: 60e6, LARGE: 159e6}))
    (system,) = file_systems(with_tests())
    ruled = Ruled.of(
        system, lambda entry: rulings_on(entry, memory.of(entry.layer, entry.component), NOW)
    )
    small, large = ruled.tests
    verdict = decide_whole(ruled._replace(tests=(watching(*small), large)), (), NOW)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert "; test mpiio-shared-10k watching: read together" in verdict.sentence
    invalid = [
        ruling._replace(finding=Finding(State.UNKNOWN, Reason.INVALID, "is above its ceiling"))
        for ruling in large[1]
    ]
    both = decide_whole(ruled._replace(tests=(watching(*small), (large[0], invalid))), (), NOW)
    assert "test posix-fpp-1m2 is above its ceiling; as a whole" in both.sentence
    assert both.sentence.endswith("; test mpiio-shared-10k watching: read together")


def test_a_loss_of_all_tests_is_a_loss_of_the_whole() -> None:
    slow = runs_of_tests({SMALL: 60e6, LARGE: 70e6})
    runs = [run for run in slow if ":" in run.latest.component] + ran([80e6] * 4)
    sentence = judge_file_system(with_tests(), "scratch", snapshot(*runs), NOW).sentence
    assert "as a whole write together 320.0 MB/s" in sentence
    assert "test mpiio-shared-10k write together 60.0 MB/s" in sentence
    assert sentence.endswith("likewise test posix-fpp-1m2")


def test_a_test_without_baseline_or_run_changes_nothing() -> None:
    *entries, small, large = with_tests()
    bare = small._replace(references={step: Reference(CEILING, None) for step in small.references})
    verdict = judge_file_system(
        [*entries, bare, large], "scratch", snapshot(*runs_of_tests({SMALL: 60e6})), NOW
    )
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


def test_rates_of_further_tests_are_in_the_performance_data() -> None:
    labels = [figure.label for figure in judged_tests({SMALL: 160e6}).figures]
    assert labels[-2:] == [f"mpiio-shared-10k_{way}_together_Bps" for way in ("write", "read")]


@pytest.mark.parametrize(
    ("rates", "ages_days", "test"),
    [
        ({}, {}, SMALL),
        ({SMALL: 160e6}, {}, LARGE),
        ({SMALL: 160e6, LARGE: 160e6}, {"scratch": 3, SMALL: 2, LARGE: 1}, "scratch"),
        # a test that was low runs every other night
        ({SMALL: 60e6, LARGE: 160e6}, {"scratch": 3, SMALL: 2, LARGE: 1}, SMALL),
        ({SMALL: 60e6, LARGE: 160e6}, {"scratch": 3, SMALL: 1, LARGE: 2}, "scratch"),
        ({SMALL: 60e6, LARGE: 60e6}, {"scratch": 3, SMALL: 2, LARGE: 1}, "scratch"),
        ({SMALL: 60e6, LARGE: 60e6}, {"scratch": 1, SMALL: 3, LARGE: 2}, SMALL),
    ],
)
def test_the_test_that_ran_longest_ago_is_next_and_a_low_one_every_other_night(
    rates: Mapping[str, float], ages_days: Mapping[str, float], test: str
) -> None:
    memory = snapshot(*runs_of_tests(rates, ages_days))
    (system,) = file_systems(with_tests())
    assert next_test(system, memory, NOW).component == test


def test_the_first_test_runs_first_and_again_after_a_low_target() -> None:
    (system,) = file_systems(with_tests())
    assert next_test(system, snapshot(), NOW).component == "scratch"
    low_target = ran([200e6, 60e6, 200e6, 200e6], NOW - 2 * DAY_S)
    other_tests = [
        run for run in runs_of_tests({SMALL: 160e6, LARGE: 160e6}) if ":" in run.latest.component
    ]
    assert next_test(system, snapshot(*low_target, *other_tests), NOW).component == "scratch"


@pytest.mark.parametrize(("floor", "test"), [(0.5, "scratch"), (0.4, SMALL)])
def test_a_first_test_below_its_floor_runs_every_other_night(floor: float, test: str) -> None:
    entries = [
        entry._replace(
            references={step: Reference(CEILING, None) for step in entry.references},
            limits=entry.limits._replace(min_efficiency=floor * (entry.component == "scratch")),
        )
        for entry in with_tests()
    ]
    others = runs_of_tests({SMALL: 160e6, LARGE: 160e6}, {SMALL: 3, LARGE: 1})
    runs = ran([100e6] * 4, NOW - 2 * DAY_S)
    runs += [run for run in others if ":" in run.latest.component]
    (system,) = file_systems(entries)
    assert next_test(system, snapshot(*runs), NOW).component == test
