"""Threshold ranges follow the plug-in guidelines."""

from __future__ import annotations

import pytest

from plumbline.model.codec import read
from plumbline.model.errors import DocumentError
from plumbline.model.limits import Baseline, Ceiling, Range, Reference


@pytest.mark.parametrize(
    ("text", "alerting", "quiet"),
    [
        ("10", (-0.1, 10.1), (0, 10)),
        ("10:", (9.9,), (10, 1e9)),
        ("~:10", (10.1,), (-1e9, 10)),
        ("10:20", (9, 21), (10, 20)),
        ("@10:20", (10, 20), (9, 21)),
    ],
)
def test_a_range_alerts_outside_or_inside(
    text: str, alerting: tuple[float, ...], quiet: tuple[float, ...]
) -> None:
    parsed = Range.parse(text)
    assert str(parsed) == text
    assert [value for value in alerting if not parsed.alerts(value)] == []
    assert [value for value in quiet if parsed.alerts(value)] == []


@pytest.mark.parametrize("text", ["", "a:", "20:10", "10:b", "::"])
def test_an_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="threshold"):
        Range.parse(text)


@pytest.mark.parametrize("text", ["161680000:", "80.5:", "~:123456789012", "0.1"])
def test_a_range_keeps_all_its_digits(text: str) -> None:
    assert str(Range.parse(text)) == text


def test_references_of_an_older_version_are_read_by_their_old_keys() -> None:
    baseline = Baseline(2e8, 0.01, 12, "2026-11-01", "2026-11-20", "abc", {}, "ada", "first")
    ceiling = {"rate_Bps": 2.5e8, "even_Bps": 1e8, "limited_by": ["disk1"]}
    median = {"median_Bps": 2e8, **baseline._asdict()}
    del median["median"]
    raw = {"ceiling": ceiling, "baseline": median, "goal_Bps": 1.5e8, "goal_part_Bps": 1e8}
    whole = Ceiling(2.5e8, ("disk1",), even=1e8)
    assert read(Reference, raw) == Reference(whole, baseline, goal=1.5e8, goal_part=1e8)
