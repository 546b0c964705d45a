"""Each rule applies to its case only; the first that applies decides."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.judge.measured import measured
from plumbline.judge.phrases import Finding
from plumbline.judge.rules import apply
from plumbline.model.limits import DEMONSTRATED, Limits, Range, Reference
from plumbline.model.record import Flag
from plumbline.model.series import Sample
from plumbline.model.verdict import Reason, State
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, REFERENCE, series

LIMITS = Limits()
EXCUSES = (Reason.KNOWN_STATE, Reason.CONTENDED, Reason.SHARED_LOSS)
FIRM = "202.1 MB/s (12 runs to 2026-11-20)"


def judged(reference: Reference = REFERENCE, limits: Limits = LIMITS, **changes: Any) -> Finding:
    return apply(measured(series(**changes), reference, limits))


CASES: list[tuple[dict[str, Any], State, Reason, str]] = [
    ({}, State.OK, Reason.FINE, f"read 200.0 MB/s, 99 % of baseline {FIRM}"),
    (
        {"rate": 300e6},
        State.UNKNOWN,
        Reason.INVALID,
        (
            "read 300.0 MB/s is 1.20 times the ceiling 250.0 MB/s by disk oss2-disk1: "
            "cached, or the topology is wrong"
        ),
    ),
    (
        {"rate": 80.3e6, "flags": (Flag.DEGRADED,)},
        State.WARNING,
        Reason.KNOWN_STATE,
        (
            f"read 80.3 MB/s, 40 % of baseline {FIRM}, ceiling 250.0 MB/s by disk oss2-disk1: "
            "degraded (rebuilding), slower is expected"
        ),
    ),
    (
        {"rate": 80.3e6, "flags": (Flag.DRAINING,)},
        State.WARNING,
        Reason.KNOWN_STATE,
        "draining (creates no objects; name it in retired of the topology), slower is expected",
    ),
    (
        {"rate": 80.3e6, "flags": (Flag.FAILED_OVER,)},
        State.WARNING,
        Reason.KNOWN_STATE,
        "failed over (its server carries another's targets too), slower is expected",
    ),
    (
        {"rate": 80.3e6, "coverage": 0.62},
        State.OK,
        Reason.CONTENDED,
        (
            f"read 80.3 MB/s, 40 % of baseline {FIRM}: contended: coverage 0.62 (0.9 needed); "
            "excluded"
        ),
    ),
    (
        {"rate": 80.3e6, "peers_rate": 82e6},
        State.OK,
        Reason.SHARED_LOSS,
        (
            f"read 80.3 MB/s, 40 % of baseline {FIRM}: not slower than its 5 peers' median "
            "82.0 MB/s, a shared cause; excluded"
        ),
    ),
    (
        {"rate": 80.3e6},
        State.CRITICAL,
        Reason.BELOW_LEVEL,
        f"read 80.3 MB/s, 40 % of baseline {FIRM}, ceiling 250.0 MB/s by disk oss2-disk1",
    ),
    (
        {"rate": 80.3e6, "coverage": 0.95},
        State.CRITICAL,
        Reason.BELOW_LEVEL,
        "40 % of baseline",
    ),
    # slower than low peers: more than the shared cause
    (
        {"rate": 80.3e6, "peers_rate": 120e6},
        State.CRITICAL,
        Reason.BELOW_LEVEL,
        "40 % of baseline",
    ),
    (
        {"rate": 80.3e6, "repeats": (79e6, 80.3e6, 199e6)},
        State.WARNING,
        Reason.BELOW_LEVEL,
        "; not confirmed by the repeats 79.0 MB/s, 80.3 MB/s, 199.0 MB/s",
    ),
    ({"rate": 140e6}, State.WARNING, Reason.BELOW_LEVEL, "69 % of baseline"),
    (
        {"rate": 140e6, "flags": (Flag.SHORT,)},
        State.WARNING,
        Reason.BELOW_LEVEL,
        "read 140.0 MB/s (cut short by the time limit), 69 % of",
    ),
    ({"rate": 140e6, "repeats": ()}, State.WARNING, Reason.BELOW_LEVEL, "69 % of baseline"),
    (
        {"rate": 140e6, "repeats": (138e6, 140e6, 199e6)},
        State.OK,
        Reason.BELOW_LEVEL,
        "; not confirmed by the repeats",
    ),
    ({"rate": 240e6}, State.OK, Reason.FINE, "119 % of baseline"),
]


@pytest.mark.parametrize(("changes", "state", "reason", "text"), CASES)
def test_a_measurement_meets_its_rule(
    changes: dict[str, Any], state: State, reason: Reason, text: str
) -> None:
    finding = judged(**changes)
    assert (finding.state, finding.reason) == (state, reason)
    assert text in finding.text
    assert finding.counts is (reason not in EXCUSES)


@pytest.mark.parametrize(
    ("baseline", "changes", "doubt"),
    [
        (None, {}, "no baseline yet"),
        (BASELINE._replace(runs=3), {}, "its baseline rests on 3 runs of 5 needed"),
        (BASELINE._replace(spread=0.14), {}, "its baseline spreads by 14 %, more than 10 %"),
        (BASELINE, {"spec_hash": "xyz"}, "taken with another probe specification"),
        (
            BASELINE._replace(spec_hash=DEMONSTRATED, terms="IOR"),
            {"versions": {"client": "2.17.57"}},
            "202.1 MB/s were demonstrated with IOR, by no probe",
        ),
        (
            BASELINE._replace(versions={"client": "2.15.5"}),
            {"versions": {"client": "2.17.57"}},
            "its baseline was taken under client 2.15.5, now 2.17.57",
        ),
        (
            BASELINE,
            {"versions": {"server": "2.17.57"}},
            "taken under server unknown, now 2.17.57",
        ),
    ],
)
def test_a_baseline_that_cannot_be_used_gives_way_to_the_peers(
    baseline: Any, changes: dict[str, Any], doubt: str
) -> None:
    reference = Reference(CEILING, baseline)
    slow = judged(reference, rate=80.3e6, **changes)
    assert (slow.state, slow.reason) == (State.CRITICAL, Reason.BELOW_LEVEL)
    assert f"{doubt}, 40 % of its 5 peers' median 201.0 MB/s" in slow.text
    assert judged(reference, **changes).state is State.OK


def test_without_baseline_and_peers_a_rate_is_not_judged() -> None:
    finding = judged(Reference(CEILING, None), peers_rate=None)
    assert (finding.state, finding.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert finding.text == (
        "read measured 200.0 MB/s but nothing to compare with: no baseline yet, no peers in the "
        "same run; measure it together with others, or run plumbline baseline capture"
    )


@pytest.mark.parametrize(
    ("rate", "state", "words"),
    [
        (224e6, State.UNKNOWN, "nothing to compare with"),
        (226e6, State.OK, "no baseline yet, 90 % of the ceiling 250.0 MB/s by disk oss2-disk1"),
        (250e6, State.OK, "no baseline yet, 100 % of the ceiling 250.0 MB/s by disk oss2-disk1"),
        (262e6, State.OK, "no baseline yet, 105 % of the ceiling"),
        (263e6, State.UNKNOWN, "cached, or the topology is wrong"),
    ],
)
def test_a_rate_at_its_ceiling_needs_no_reference(rate: float, state: State, words: str) -> None:
    """No healthy rate is higher than the ceiling, so none can be much higher than this one."""
    finding = judged(Reference(CEILING, None), peers_rate=None, rate=rate)
    assert (finding.state, words in finding.text) == (state, True)


def test_a_rate_equal_to_its_ceiling_needs_no_reference_at_any_limit() -> None:
    strict = Limits(peer_loss=0.0)
    finding = judged(Reference(CEILING, None), limits=strict, peers_rate=None, rate=CEILING.rate)
    assert finding.state is State.OK


def test_a_metadata_target_without_a_reference_needs_more_nights() -> None:
    finding = judged(Reference(None, None), peers_rate=None, layer="mdt")
    assert finding.text.endswith("measure it in more nights, or run plumbline baseline capture")


def test_a_rate_far_above_its_ceiling_shows_nothing() -> None:
    tolerant = Limits(invalid_above=2.0)
    finding = judged(Reference(CEILING, None), limits=tolerant, peers_rate=None, rate=300e6)
    assert finding.reason is Reason.NO_REFERENCE


def test_without_an_inventory_no_sentence_names_a_baseline() -> None:
    directory, limits = Reference(None, None), Limits(baselines=False)
    alone = judged(directory, limits=limits, peers_rate=None)
    assert alone.text == (
        "read measured 200.0 MB/s but nothing to compare with: no peers in the same run; measure "
        "it together with others"
    )
    slow = judged(directory, limits=limits, rate=80.3e6)
    assert slow.text == "read 80.3 MB/s, 40 % of its 5 peers' median 201.0 MB/s"


def past(day: int, rate: float = 80e6, coverage: float = 0.5) -> Sample:
    return Sample(NOW - 3610 - day * DAY_S, rate, coverage, 201e6, 5, None)


@pytest.mark.parametrize(
    ("earlier", "state"),
    [
        ((past(1), past(2)), State.UNKNOWN),
        ((past(1), past(1), past(2), past(3, 200e6, 1.0)), State.UNKNOWN),
        ((past(1),), State.OK),
        ((past(1, coverage=1.0), past(2)), State.OK),
        ((past(0), past(0), past(1)), State.OK),
        ((past(1), past(2, 200e6)), State.OK),
        ((past(1), past(2, coverage=0.97)), State.OK),
        ((past(1), past(1, 200e6, 1.0), past(2)), State.OK),
    ],
)
def test_contention_excuses_a_loss_for_two_days(earlier: tuple[Sample, ...], state: State) -> None:
    finding = judged(rate=80.3e6, coverage=0.62, earlier=earlier)
    for_days = state is State.UNKNOWN
    reason = Reason.CONTENDED_FOR_DAYS if for_days else Reason.CONTENDED
    assert (finding.state, finding.reason, finding.counts) == (state, reason, False)
    assert ("contended on each of the last 3 days" in finding.text) is for_days


def test_levels_are_ranges_and_may_have_an_upper_limit() -> None:
    limits = Limits(warning=Range(80, 110), critical=Range(50, 115))
    assert judged(limits=limits, rate=240e6).state is State.CRITICAL
    assert judged(limits=limits, rate=225e6).state is State.WARNING
    # contention does not excuse a high rate
    assert judged(limits=limits, rate=240e6, coverage=0.1).state is State.CRITICAL


def test_the_factor_above_the_ceiling_is_a_limit_of_the_policy() -> None:
    assert judged(rate=260e6).reason is Reason.FINE
    assert judged(limits=Limits(invalid_above=1.0), rate=260e6).reason is Reason.INVALID
