"""check_node adds the note of a run that could not be recorded to the published verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from plumbline.model.codec import compact
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.published import Unrecorded
from plumbline.model.series import Series
from plumbline.model.verdict import State, Verdict
from tests.package.judge.test_node import TWO, old, ran, target
from tests.package.judgements import DAY_S, NOW, checked_node, published, snapshot


def noted(
    folder: Path,
    entries: Sequence[Expectation],
    *measured: Series,
    layer: str = "ost",
    age_s: float = 3600.0,
) -> Verdict:
    """Return the verdict with the note of a run of the layer so long ago."""
    note = Unrecorded(layer, NOW - age_s, str(folder), "no space is left")
    (folder / f"unrecorded-{layer}.json").write_text(compact(note), encoding="utf-8")
    documents = published(folder, entries, snapshot(*measured))
    return checked_node(folder / "verdicts", documents[1], NOW)


def test_a_run_that_was_not_recorded_is_a_warning_on_a_node_that_was_measured(
    tmp_path: Path,
) -> None:
    verdict = noted(tmp_path, TWO, ran("OST0"), ran("OST1"))
    assert verdict.state is State.WARNING
    assert verdict.sentence == (
        "client1: ost 2 of 2 measured, last 5 min ago; the run 60 min ago could not be recorded: "
        "no space is left"
    )
    assert verdict.evidence[0] == verdict.sentence.partition(": ")[2]


def test_a_run_that_was_not_recorded_stays_a_warning_on_a_weekly_schedule(tmp_path: Path) -> None:
    weekly = target("OST0", limits=Limits(stale_after_s=9 * DAY_S))
    assert noted(tmp_path, [weekly], old("OST0", 8 * DAY_S), age_s=DAY_S).state is State.WARNING


def test_the_reason_is_added_to_silence_and_to_a_first_run(tmp_path: Path) -> None:
    silent = noted(tmp_path, TWO, old("OST0"), old("OST1"))
    assert silent.state is State.UNKNOWN
    assert silent.sentence.endswith("could not be recorded: no space is left")
    first = noted(tmp_path, TWO)
    assert first.state is State.WARNING
    assert "ost waits for its first run" in first.sentence


def test_a_note_of_another_layer_is_not_shown(tmp_path: Path) -> None:
    assert noted(tmp_path, TWO, ran("OST0"), ran("OST1"), layer="raw").state is State.OK
