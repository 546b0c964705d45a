"""A matrix of creations: slow MDTs and OSTs are named as a whole, failing pairs one by one."""

from __future__ import annotations

from math import exp
from random import Random
from typing import Mapping

import pytest

from plumbline.judge.creations import Finding, Pair, findings, is_judged, summary
from plumbline.model.verdict import State


def matrix(
    rows: int = 2,
    columns: int = 6,
    *,
    repeats: int = 5,
    slow: Mapping[str, float] = {},
    spread: float = 0.1,
    seed: int = 1,
) -> list[Pair]:
    """Return a matrix with lognormal times around 2 ms; one creation in fifty takes ten times."""
    chance = Random(seed)
    return [
        Pair(
            mdt,
            ost,
            tuple(
                0.002
                * slow.get(mdt, 1.0)
                * slow.get(ost, 1.0)
                * slow.get(mdt + ost, 1.0)
                * exp(chance.gauss(0, spread))
                * (10.0 if chance.random() < 0.02 else 1.0)
                for _ in range(repeats)
            ),
        )
        for mdt in (f"MDT{number}" for number in range(rows))
        for ost in (f"OST{number}" for number in range(columns))
    ]


def named(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.mdt, finding.ost) for finding in found]


def test_a_row_that_is_slow_as_a_whole_names_the_mdt_alone() -> None:
    (found,) = findings(matrix(slow={"MDT1": 2.5}))
    assert (found.state, found.mdt, found.ost) == (State.WARNING, "MDT1", "")
    assert found.times == pytest.approx(2.5, rel=0.1)
    assert "MDT1 is slow on all OSTs: a creation takes 2." in found.sentence
    assert "as long as from the other MDTs on the same 6 OSTs" in found.sentence


def test_a_column_that_is_slow_as_a_whole_names_the_ost_alone() -> None:
    (found,) = findings(matrix(slow={"OST3": 2.5}))
    assert (found.state, found.mdt, found.ost) == (State.WARNING, "", "OST3")
    assert "osp.OST3-osc-MDT*.prealloc_status" in found.sentence


def test_a_slow_row_and_a_slow_column_are_both_named_the_slower_first() -> None:
    found = findings(matrix(rows=3, slow={"MDT1": 3.0, "OST3": 2.0}))
    assert named(found) == [("MDT1", ""), ("", "OST3")]


def test_a_single_slow_cell_is_not_judged() -> None:
    assert findings(matrix(rows=3, slow={"MDT1OST3": 4.0})) == []


def test_a_difference_below_half_or_within_the_scatter_is_nothing() -> None:
    assert findings(matrix(slow={"MDT1": 1.3})) == []
    assert findings(matrix(columns=3, spread=0.8, slow={"MDT1": 2.0})) == []


@pytest.mark.parametrize(
    ("rows", "columns", "counts"), [(1, 6, "1 MDT and 6 OSTs"), (2, 2, "2 MDTs and 2 OSTs")]
)
def test_with_too_few_rows_or_columns_nothing_is_judged(
    rows: int, columns: int, counts: str
) -> None:
    pairs = matrix(rows, columns, slow={"MDT0": 5.0, "OST1": 5.0})
    assert (findings(pairs), is_judged(pairs)) == ([], False)
    assert summary(pairs, []) == (f"nothing is judged: times of {counts}, and it takes 2 and 3")


def test_without_a_finding_the_least_certain_ratio_is_stated() -> None:
    calm, rough = matrix(spread=0.02), matrix(spread=0.4)
    assert summary(calm, findings(calm)).endswith(
        "one that takes 1.5 times as long as the others would have been seen"
    )
    assert findings(rough) == []
    ratio = float(summary(rough, []).partition("takes ")[2].partition(" ")[0])
    assert ratio > 2.0


@pytest.mark.parametrize(
    ("rows", "columns", "repeats", "least"),
    [(2, 3, 1, 1.5), (2, 3, 2, 5.8), (2, 3, 5, 3.0), (3, 3, 2, 4.2), (2, 9, 2, 4.2)],
)
def test_repeats_that_differ_limit_what_can_be_seen(
    rows: int, columns: int, repeats: int, least: float
) -> None:
    """All pairs are alike, so the scatter of their repeats is all that is uncertain.

    Repeats that differ by 0.4, a logarithm, make a pair uncertain by 1.4826 * 0.4 / sqrt(2) *
    1.2533 / sqrt(repeats), a comparison with peers by sqrt(1 + 1.2533 ** 2 / peers) times that,
    and the median of n comparisons by 1.2533 / sqrt(n) times that; four times the largest of these
    can be seen.
    """
    times = tuple(0.002 * exp(0.4 * (number % 2)) for number in range(repeats))
    pairs = [pair._replace(seconds=times) for pair in matrix(rows, columns)]
    assert f"one that takes {least} times as long" in summary(pairs, findings(pairs))


@pytest.mark.parametrize("times", [(0.0, 0.002, 0.0, 0.4), (0.0, 0.002, 0.0, 0.4, 0.002)])
def test_a_time_that_a_clock_does_not_show_says_nothing_of_the_scatter(
    times: tuple[float, ...],
) -> None:
    pairs = [pair._replace(seconds=(0.002, 0.002)) for pair in matrix(2, 3)]
    pairs[0] = pairs[0]._replace(seconds=times)
    assert "takes 1.5 times" in summary(pairs, findings(pairs))


def test_pairs_that_were_tried_once_say_nothing_of_the_scatter() -> None:
    """Two of five columns show it, as two repeats in each pair do."""
    twice = (0.002, 0.002 * exp(0.4))
    pairs = [
        pair._replace(seconds=twice if pair.ost in ("OST0", "OST1") else twice[:1])
        for pair in matrix(2, 9)
    ]
    assert "one that takes 4.2 times as long" in summary(pairs, findings(pairs))


def test_healthy_matrices_with_heavy_tails_are_seldom_accused() -> None:
    accused = sum(bool(findings(matrix(4, 20, spread=0.2, seed=seed))) for seed in range(40))
    assert accused == 0


def test_a_pair_that_fails_is_named_with_its_connection() -> None:
    pairs = [
        pair._replace(seconds=pair.seconds[:3], failed=2, reason="No such device")
        if (pair.mdt, pair.ost) == ("MDT1", "OST2")
        else pair
        for pair in matrix(rows=3)
    ]
    (found,) = findings(pairs)
    assert (found.state, found.mdt, found.ost) == (State.CRITICAL, "MDT1", "OST2")
    assert found.sentence == (
        "MDT1 cannot create on OST2 in 2 of 5 tries: No such device; MDT0, MDT2 can, so its "
        "connection to the OST is broken or inactive, or has no objects created in advance: look "
        "at lctl get_param osp.OST2-osc-MDT1.state osp.OST2-osc-MDT1.active "
        "osp.OST2-osc-MDT1.prealloc_status on the server of MDT1"
    )


def broken(name: str, pairs: list[Pair]) -> list[Pair]:
    """Return pairs of which those of a row or column fail, each for another reason."""
    return [
        pair._replace(seconds=(), failed=1, reason=f"no {place}") if name in pair[:2] else pair
        for place, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("name", "columns", "place", "sentence"),
    [
        ("MDT1", 6, ("MDT1", ""), "MDT1 can create on none of 6 OSTs: no 6; look at its server, "),
        ("MDT1", 2, ("MDT1", ""), "MDT1 can create on none of 2 OSTs: no 2; look at its server, "),
        ("OST2", 6, ("", "OST2"), "no MDT can create on OST2: no 2; look at its server, and on "),
        # one pair alone is neither a row nor a column
        ("MDT1", 1, ("MDT1", "OST0"), "MDT1 cannot create on OST0: no 1; MDT0, MDT2 can, so its "),
    ],
)
def test_a_row_or_a_column_that_fails_as_a_whole_is_one_finding(
    name: str, columns: int, place: tuple[str, str], sentence: str
) -> None:
    (found,) = findings(broken(name, matrix(rows=3, columns=columns)))
    assert (found.state, found.mdt, found.ost) == (State.CRITICAL, *place)
    assert found.sentence.startswith(sentence)


@pytest.mark.parametrize(("name", "place"), [("OST1", ("", "OST1")), ("MDT1", ("MDT1", ""))])
def test_as_few_rows_and_columns_as_it_takes_are_judged(name: str, place: tuple[str, str]) -> None:
    pairs = matrix(2, 3, slow={name: 5.0}, spread=0.02)
    assert is_judged(pairs)
    assert named(findings(pairs)) == [place]


def test_pairs_that_were_not_tried_are_no_failures() -> None:
    pairs = [pair._replace(seconds=()) if pair.ost == "OST5" else pair for pair in matrix()]
    assert findings(pairs) == []
