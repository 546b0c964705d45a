"""What is below its floor becomes the reference only where somebody says so."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.plan.baseline import accept, refuse_below_floor
from plumbline.plan.capture import Captured, capture
from tests.package.plan.test_capture import SPEC, expected, key, runs

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


def captured(of: dict[tuple[str, str], Expectation], **rates_MBps: float) -> Captured:
    every = [
        record._replace(id=f"{name}{number}", spec_hash=of["ost", name].spec.hash())
        for name, rate in rates_MBps.items()
        for number, record in enumerate(runs(name, [rate] * 5))
    ]
    return capture(every, of)


def below(found: Captured, name: str = "a") -> str:
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
    even = Reference(CEILING._replace(even_Bps=60e6), None)
    assert below(captured(site("a", reference=even), a=60)) == ""
    capped = site("a", cap_Bps=100e6)
    assert [below(captured(capped, a=rate)) == "" for rate in (49.9, 50)] == [False, True]


@pytest.mark.parametrize(
    ("rate_MBps", "text"),
    [(149, "149.0 MB/s is 99.3 % of its goal 150.0 MB/s"), (150, "")],
)
def test_a_promise_that_is_missed_is_said(rate_MBps: float, text: str) -> None:
    promised = Reference(CEILING, None, goal_Bps=150e6)
    assert below(captured(site("a", reference=promised), a=rate_MBps)) == text


def test_a_part_of_a_promise_is_missed_where_the_group_misses_its_sum() -> None:
    promised = Reference(CEILING, None, goal_part_Bps=150e6)
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
