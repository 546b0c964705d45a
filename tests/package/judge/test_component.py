"""Verdict on one component: the worst operation gives state and sentence."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Scenario
from plumbline.model.series import Running, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import BASELINE, DAY_S, NOW, REFERENCE, expectation, judge, series


def both(write: Any = None, read: Any = None) -> tuple[Series, ...]:
    return (
        series(**{"operation": Operation.WRITE, **(write or {})}),
        series(**(read or {})),
    )


def judged(*operations: Series, running: tuple[Running, ...] = ()) -> Verdict:
    return judge(expectation(), operations, running, NOW)


def without_rate(outcome: Outcome, reason: str) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, "rate": None}


def test_a_healthy_component_has_one_short_sentence() -> None:
    verdict = judged(*both({"rate": 195e6}))
    assert (verdict.state, verdict.reason, verdict.counts) == (State.OK, Reason.FINE, True)
    assert verdict.sentence == (
        "scratch-OST0003 write 195.0 MB/s, read 200.0 MB/s, 96 % and 99 % of baseline"
    )


def test_the_worst_operation_gives_state_sentence_and_ratios() -> None:
    verdict = judged(*both({"rate": 150e6}, {"rate": 80.3e6}))
    assert verdict.state is State.CRITICAL
    assert verdict.sentence == (
        "scratch-OST0003 read 80.3 MB/s, 40 % of baseline 202.1 MB/s (12 runs to 2026-11-20), "
        "ceiling 250.0 MB/s by disk oss2-disk1"
    )
    assert verdict.ratio_baseline == pytest.approx(80.3 / 202.1)
    assert verdict.ratio_ceiling == pytest.approx(80.3 / 250)
    assert verdict.ratio_peers == pytest.approx(80.3 / 201)


def test_a_quantity_is_judged_from_its_first_run_on() -> None:
    p99 = Operation("read p99")
    reference = REFERENCE._replace(ceiling=None, baseline=BASELINE._replace(median=100.0))
    entry = expectation(references={"read/single": REFERENCE, "read p99/single": reference})
    before = judge(entry, (series(),), (), NOW)
    assert (before.state, [figure.label for figure in before.figures]) == (State.OK, ["read_Bps"])
    late = judge(entry, (series(), series(40.0, 99.0, operation=p99)), (), NOW)
    assert late.state is State.CRITICAL
    assert late.sentence == (
        "scratch-OST0003 read p99 25.0 ms, 2.5 times baseline 10.0 ms (12 runs to 2026-11-20)"
    )
    _, figure = late.figures
    assert (figure.label, figure.value, figure.warning) == ("read_p99_s", 0.025, "0.0125")


def test_an_excused_loss_is_ok_and_still_named() -> None:
    verdict = judged(*both(read={"rate": 80.3e6, "coverage": 0.5}))
    assert (verdict.state, verdict.counts) == (State.OK, False)
    assert "contended" in verdict.sentence


def test_unknown_outranks_warning_and_never_hides_critical() -> None:
    failed = without_rate(Outcome.FAILED, "fio: no space")
    assert judged(*both({"rate": 150e6}, failed)).state is State.UNKNOWN
    assert judged(*both({"rate": 50e6}, failed)).state is State.CRITICAL


@pytest.mark.parametrize(
    ("read", "state", "reason", "text"),
    [
        (
            {"started_at": NOW - 3 * DAY_S - 9, "finished_at": NOW - 3 * DAY_S},
            State.UNKNOWN,
            Reason.STALE,
            (
                "read is stale: last run 2024-10-01 00:00 UTC, 3 d ago (limit 36 h); "
                "see systemctl status plumbline-ost.timer on client1"
            ),
        ),
        (
            {"started_at": NOW + 7190, "finished_at": NOW + 7200},
            State.UNKNOWN,
            Reason.AHEAD,
            (
                "read is dated 2024-10-04 02:00 UTC, 2 h ahead of the clock; "
                "set the clock of client1 (chronyc tracking) and probe again"
            ),
        ),
    ],
)
def test_without_a_fresh_rate_the_verdict_names_the_reason(
    read: dict[str, Any], state: State, reason: Reason, text: str
) -> None:
    verdict = judged(*both(read=read))
    assert (verdict.state, verdict.reason) == (state, reason)
    assert verdict.sentence == f"scratch-OST0003 {text}"
    assert verdict.figures[1].value is None


def test_an_operation_that_was_never_measured_is_unknown() -> None:
    verdict = judged(series())
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NEVER_MEASURED)
    assert verdict.sentence == (
        "scratch-OST0003 write was never recorded on client1; "
        "run systemctl start plumbline-ost.service there"
    )


def test_a_hung_run_is_critical_whatever_was_measured() -> None:
    since = NOW - 1500
    verdict = judged(*both(), running=(Running("ost", "scratch-OST0003", since),))
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.HANGS)
    assert verdict.sentence.startswith(
        "scratch-OST0003 hangs: a run has not ended since 2024-10-03 23:35 UTC, 25 min ago"
    )
    assert len([line for line in verdict.evidence if "[OK, fine]" in line]) == 2


@pytest.mark.parametrize(
    "running",
    [
        Running("ost", "scratch-OST0003", NOW - 600),
        Running("raw", "scratch-OST0003", NOW - 6000),
        Running("ost", "scratch-OST0004", NOW - 6000),
    ],
)
def test_a_run_within_its_limit_or_of_another_component_does_not_hang(running: Running) -> None:
    assert judged(*both(), running=(running,)).state is State.OK


def test_an_operation_that_is_no_longer_expected_is_not_judged() -> None:
    old = series(operation=Operation.REREAD, finished_at=NOW - 90 * DAY_S)
    assert judged(*both(), old).state is State.OK


def test_without_references_a_rate_is_compared_with_the_peers() -> None:
    bare = expectation(references={})
    assert judge(bare, (series(rate=80e6),), (), NOW).state is State.CRITICAL
    assert judge(bare, (), (), NOW).state is State.UNKNOWN


def test_a_reference_to_an_unknown_operation_is_refused() -> None:
    wrong = expectation(references={"erase/single": REFERENCE})
    with pytest.raises(DocumentError, match="'erase/single'"):
        judge(wrong, (), (), NOW)


def test_evidence_shows_references_peers_conditions_and_history() -> None:
    earlier = series(190e6).samples[0]._replace(started_at=NOW - 2 * DAY_S)
    last = series(coverage=0.98, fill=0.45, versions={}, earlier=(earlier,))
    evidence = judge(expectation(references={"read/single": REFERENCE}), (last,), (), NOW).evidence
    assert evidence == (
        "read 200.0 MB/s 5 min ago, repeats 200.0 MB/s, 200.0 MB/s, 200.0 MB/s [OK, fine]",
        (
            "  baseline 202.1 MB/s, spread 1.0 %, 12 runs 2026-11-01 to 2026-11-20, "
            "accepted by ada: new disks"
        ),
        "  ceiling 250.0 MB/s by disk oss2-disk1, reached to 80 %",
        "  100 % of its 5 peers' median 201.0 MB/s in the same run",
        "  fio fio-3.39, specification abc, filled to 45 %, coverage 0.98",
        "    2 d ago 190.0 MB/s, 5 peers 201.0 MB/s",
    )


def test_figures_have_their_levels_in_bytes_per_second() -> None:
    together = series(80.3e6, scenario=Scenario.TOGETHER)
    expected = expectation(references={"read/together": REFERENCE})
    (figure,) = judge(expected, (together,), (), NOW).figures
    assert figure == ("read_together_Bps", 80.3e6, "", "161680000:", "101050000:", 250e6)


@pytest.mark.parametrize(
    ("outcome", "state", "words"),
    [
        (Outcome.BROKEN, State.CRITICAL, "read failed on 2024-10-03 23:54 UTC, it is broken: why"),
        (Outcome.HUNG, State.CRITICAL, "read hung on 2024-10-03 23:54 UTC: why"),
        (Outcome.UNREACHABLE, State.UNKNOWN, "read was not measured: why"),
        (Outcome.NO_MOUNT, State.UNKNOWN, "read was not measured: why"),
        (Outcome.UNANSWERED, State.UNKNOWN, "read was not measured: why"),
        (Outcome.FAILED, State.UNKNOWN, "read failed: why"),
        (Outcome.SKIPPED, State.UNKNOWN, "read was skipped: why"),
    ],
)
def test_only_a_fault_of_the_component_itself_is_critical(
    outcome: Outcome, state: State, words: str
) -> None:
    verdict = judged(*both(read=without_rate(outcome, "why")))
    assert (verdict.state, verdict.reason) == (state, Reason(outcome.value))
    assert verdict.sentence == f"scratch-OST0003 {words}"
    assert verdict.figures[1].value is None


def test_an_interrupted_run_is_named_and_leaves_the_verdict_unchanged() -> None:
    interrupted = Running("ost", "scratch-OST0003", NOW - 7200, interrupted=True)
    verdict = judged(*both(), running=(interrupted,))
    assert verdict.state is State.OK
    assert "the run that began 2024-10-03 22:00 UTC was interrupted" in verdict.sentence
    assert judged(*both(read={"rate": 50e6}), running=(interrupted,)).state is State.CRITICAL
    assert judge(expectation(), (), (interrupted,), NOW).state is State.UNKNOWN
