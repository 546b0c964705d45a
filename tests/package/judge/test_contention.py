"""Contention: verdicts name the traffic of others on a target."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.judge.rules import coverage_words
from plumbline.model.codec import read, write
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.verdict import Reason, State
from plumbline.observe.coverage import OTHERS, Job, Others
from tests.package.judgements import NOW, expectation, judge, series
from tests.package.records import record

JOB = Job("4711", 38 * 10**9, 40.0)
CONTENDED = Others("oss1", 0.29, 0.33, JOB)
ON_LUSTRE = {"client": "2.15.5", "server": "2.15.5"}


def details_of(others: Others) -> dict[str, Any]:
    return {OTHERS: write(others)}


@pytest.mark.parametrize(
    ("coverage", "others", "versions", "words"),
    [
        (0.97, None, None, "coverage 0.97"),
        (
            0.31,
            CONTENDED,
            ON_LUSTRE,
            "coverage 0.31 (0.29 to 0.33) by the counters of oss1, "
            "job 4711 moved 38.0 GB in the 40 s around it",
        ),
        (
            0.31,
            CONTENDED._replace(job=None),
            ON_LUSTRE,
            "coverage 0.31 (0.29 to 0.33) by the counters of oss1",
        ),
        (
            None,
            Others("oss1", 0.82, 0.97),
            ON_LUSTRE,
            "contention unknown: coverage between 0.82 and 0.97 by the counters of oss1",
        ),
        (
            None,
            Others("oss1", 0.82, 0.97, JOB),
            ON_LUSTRE,
            "contention unknown: coverage between 0.82 and 0.97 by the counters of oss1, "
            "job 4711 moved 38.0 GB in the 40 s around it",
        ),
        (
            None,
            Others("oss1", unknown="the clocks of client1 and oss1 are 12 s apart"),
            ON_LUSTRE,
            "contention unknown: the clocks of client1 and oss1 are 12 s apart",
        ),
        (None, None, ON_LUSTRE, "contention unknown: no counters of its server"),
        (None, None, {"filesystem": "nfs"}, "coverage unknown"),
        (None, None, None, "coverage unknown"),
    ],
)
def test_the_evidence_line_names_the_coverage_and_its_source(
    coverage: Optional[float],
    others: Optional[Others],
    versions: Optional[dict[str, str]],
    words: str,
) -> None:
    details = details_of(others) if others else None
    assert coverage_words(record(coverage=coverage, details=details, versions=versions)) == words


def test_the_sentence_names_the_job_that_used_the_target() -> None:
    both = [
        series(80.3e6, peers_rate=None, coverage=0.31, operation=way, details=details_of(CONTENDED))
        for way in (Operation.READ, Operation.WRITE)
    ]
    verdict = judge(expectation(), both, (), NOW)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.CONTENDED)
    assert verdict.sentence.endswith(
        "contended: coverage 0.31 (0.9 needed), job 4711 moved 38.0 GB in the 40 s around it; "
        "excluded"
    )


@pytest.mark.parametrize(
    "others",
    [
        {"least": 0.5},
        "none",
        {**write(CONTENDED), "least": "much"},
        {**write(CONTENDED), "most": 7},
        {**write(CONTENDED), "job": ["4711"]},
        {**write(CONTENDED), "job": {"id": 4711, "bytes": 1, "seconds": 1}},
    ],
)
def test_damaged_details_are_refused(others: object) -> None:
    with pytest.raises(DocumentError, match="the traffic of others in a record is damaged"):
        coverage_words(record(details={OTHERS: others}))


def test_the_traffic_of_others_survives_writing_and_reading() -> None:
    for others in (CONTENDED, Others("oss1"), CONTENDED._replace(job=None)):
        assert read(Others, write(others)) == others


@pytest.mark.parametrize(("coverage", "shown"), [(0.31, "0.31"), (0.8963, "0.896"), (0.4, "0.40")])
def test_a_coverage_below_the_least_is_shown_below_it(coverage: float, shown: str) -> None:
    runs = [
        series(80e6, coverage=coverage, operation=way) for way in (Operation.READ, Operation.WRITE)
    ]
    verdict = judge(expectation(), runs, (), NOW)
    assert f"contended: coverage {shown} (0.9 needed)" in verdict.sentence
