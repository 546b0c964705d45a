from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plumbline.measure.trial import Failure
from plumbline.model.codec import compact
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError
from plumbline.model.profile import Durations
from plumbline.model.ranks import TESTS, Place
from plumbline.model.record import Flag, Measurement, Operation, Outcome
from plumbline.parts.parallel.job import Job, Result, State
from plumbline.parts.parallel.tally import Tally, details, details_of_all, read_results

ENDED = Completed(("mpirun",), 137, "", "-----\nnode c1 exited on signal 9 (Killed).\n-----\n", 5.0)
LATE = Completed(("mpirun",), 1, "", "", 90.0, timed_out=True)
PLACES = tuple(Place(name, name, f"/mnt/{name}/f") for name in "ab")
JOB = Job("/w", TESTS["ost"], (Operation.WRITE,), PLACES, 1 << 20, 10.0)


def result(rank: int, target: str, **changes: Any) -> Result:
    values: dict[str, Any] = {
        "operation": Operation.WRITE,
        "state": State.DONE,
        "bytes": 300,
        "begin_s": 0.1,
        "end_s": 2.5,
        "curve": (100.0, 150.0, 50.0),
        "durations": Durations({0: 3}, 3.0, 1.0),
    }
    return Result(rank, "c1", target, **{**values, **changes})


def tally(*results: Result, completed: Completed = ENDED) -> Tally:
    return Tally(JOB, Operation.WRITE, results, completed)


def test_the_last_rank_of_a_target_determines_its_rate() -> None:
    both = tally(result(0, "a"), result(1, "a", end_s=4.0, curve=(100.0, 50.0, 100.0, 50.0)))
    figures = both.of_target("a", 2)
    assert isinstance(figures, Measurement)
    assert (figures.bytes, figures.seconds, figures.rate) == (600, 4.0, 150.0)
    assert figures.profile == (200.0, 200.0, 150.0, 50.0)
    assert figures.quantities["mean"] == 1.0


def test_the_last_rank_of_all_determines_the_total_rate() -> None:
    figures = tally(result(0, "a"), result(1, "b", end_s=5.0)).of_all()
    assert isinstance(figures, Measurement)
    assert (figures.bytes, figures.rate) == (600, 120.0)


def test_one_short_rank_makes_the_figure_short() -> None:
    figures = tally(result(0, "a"), result(1, "a", state=State.SHORT)).of_target("a", 2)
    assert isinstance(figures, Measurement)
    assert figures.flags == (Flag.SHORT,)


@pytest.mark.parametrize(
    ("host", "times"), [("c1", (1000.5, 1004.5)), ("c2", (990.0, 994.0)), ("c3", (990.0, 994.0))]
)
def test_the_times_of_an_operation_follow_the_clock_of_a_host_with_ranks(
    host: str, times: tuple[float, float]
) -> None:
    ranks = [
        result(0, "a", began_at=1000.5),
        result(1, "b", began_at=990.0, end_s=4.0)._replace(client="c2"),
        result(2, "b", state=State.FAILED),
    ]
    assert tally(*ranks).times(ranks[:2], host) == times


def test_an_operation_that_no_rank_reached_has_no_times() -> None:
    assert tally(result(0, "a")).times([], "c1") is None


@pytest.mark.parametrize(
    ("completed", "outcome", "sentence"),
    [
        (ENDED, Outcome.FAILED, "the rank left no result: mpirun ended with 137: node c1 exited"),
        (LATE, Outcome.HUNG, "the rank did not end this write in the 90 s of the run"),
    ],
)
def test_a_rank_without_a_result_is_reported_and_the_other_target_is_kept(
    completed: Completed, outcome: Outcome, sentence: str
) -> None:
    half = tally(result(0, "a"), completed=completed)
    assert isinstance(half.of_target("a", 1), Measurement)
    for figures in (half.of_target("b", 1), half.of_all()):
        assert isinstance(figures, Failure)
        assert figures.outcome is outcome
    missing = half.of_target("b", 1)
    assert isinstance(missing, Failure)
    assert sentence in missing.reason


def test_the_message_of_a_rank_precedes_that_of_its_launcher() -> None:
    message = "plumbline: 1 ranks have found one another instead of 2"
    end = ENDED._replace(stderr=f"noise\n{message}\nexited on signal 9\n")
    figures = tally(completed=end).of_all()
    assert isinstance(figures, Failure)
    assert figures.reason == f"2 of 2 ranks left no result: mpirun ended with 137: {message}"


def test_a_host_that_ssh_cannot_reach_is_named() -> None:
    message = "ssh: Could not resolve hostname c7: Name or service not known"
    end = ENDED._replace(stderr=f"{message}\n-----\nnot found.\n\nWe apologize.\n-----\n")
    figures = tally(completed=end).of_all()
    assert isinstance(figures, Failure)
    assert figures.reason.endswith(f"ended with 137: {message}")


def test_the_launchers_message_about_a_dead_rank_is_found_in_any_output() -> None:
    message = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)"
    end = ENDED._replace(stdout=f"{message}\nsee the FAQ\n", stderr="setsid: child 7: Success\n")
    figures = tally(completed=end).of_all()
    assert isinstance(figures, Failure)
    assert figures.reason.endswith(f"ended with 137: {message}")


def test_a_failed_rank_has_its_client_and_reason() -> None:
    bad = result(1, "b", state=State.FAILED, reason="No space left on device")
    figures = tally(result(0, "a"), bad).of_all()
    assert figures == Failure(Outcome.FAILED, "rank 1 on c1: No space left on device")


def test_a_rank_that_moved_nothing_is_no_rate() -> None:
    figures = tally(result(0, "a", bytes=0, state=State.SHORT)).of_target("a", 1)
    assert isinstance(figures, Failure)


def test_a_record_keeps_each_rank_with_its_curve() -> None:
    results = [result(1, "b"), result(0, "a")]
    figures = details(results, tally(*results).of_all())
    first, second = figures["ranks"]
    assert (first["rank"], second["rank"]) == (0, 1)
    assert first["curve"] == [100, 150, 50]
    assert set(figures) == {"ranks", "durations"}, "a curve of 2 s has no shape"
    json.dumps(figures)


def test_a_record_has_the_shape_and_form_of_a_target_in_percent_of_its_mean() -> None:
    curve = (400.0, 300.0, 200.0, 100.0, 0.0, 7.0)
    own = result(0, "a", bytes=1007, end_s=5.1, curve=curve)
    figures = details([own], tally(own).of_target("a", 1))
    assert figures["form"] == [200, 150, 100, 50, 0]
    assert figures["shape"]["decline"] == 1.0
    assert json.loads(json.dumps(figures)) == figures


def test_the_record_of_all_targets_names_the_stragglers() -> None:
    quick = result(0, "a", bytes=600, end_s=6.0, curve=(100.0,) * 6)
    slow = result(1, "b", bytes=600, end_s=12.0, curve=(50.0,) * 12)
    both = tally(quick, slow)
    figures = details_of_all(both, both.of_all())
    (late,) = figures["stragglers"]
    assert late["sentence"] == (
        "rank 1 on b finished 6 s after the others: slow from start to finish"
    )
    assert figures["shape"]["tail_s"] == 6
    assert "ranks" not in figures


def test_a_run_without_a_figure_still_names_its_stragglers() -> None:
    ranks = [result(n, "a", begin_s=0.0, end_s=6.0, curve=(50.0,) * 6) for n in range(3)]
    late = result(3, "b", begin_s=4.1, end_s=10.0, curve=(0.0,) * 4 + (50.0,) * 6)
    dead = result(4, "b", state=State.FAILED, reason="I/O error", end_s=99.0)
    whole = tally(*ranks, late, dead)
    figures = details_of_all(whole, whole.of_all())
    assert [straggler["ranks"] for straggler in figures["stragglers"]] == [(3,)]
    assert figures["stragglers"][0]["kind"] == "late"
    assert "shape" not in figures


def test_results_are_read_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{}")
    (tmp_path / "write-000000.json").write_text(compact(result(0, "a")))
    (tmp_path / "write-000001.json.part").write_text("{")
    assert list(read_results(tmp_path)) == [result(0, "a")]
    whole = json.loads(compact(result(0, "a")))
    durations = ([[1, 2]], [{"20000": 1}, 1, 1])
    damages: tuple[dict[str, Any], ...] = (
        {"state": "fine"},
        {"curve": 5},
        *({"durations": raw} for raw in durations),
    )
    for text in ("{", *(json.dumps({**whole, **damage}) for damage in damages)):
        (tmp_path / "write-000001.json").write_text(text)
        with pytest.raises(DocumentError, match=r"write-000001\.json is damaged"):
            list(read_results(tmp_path))
