"""Names in a picture: the first come first, and none lies over another."""

from __future__ import annotations

from plumbline.report.figure import NamedPoint, labels


def named(*places: int, height: float = 10.0, name: str = "scratch-OST0000") -> list[NamedPoint]:
    return [NamedPoint(place, height, name) for place in places]


def test_the_first_of_near_neighbours_has_its_name() -> None:
    assert [label["x"] for label in labels(named(4, 3, 5), 336, 100.0)] == [4]


def test_names_that_would_touch_stand_at_different_heights() -> None:
    # 15 letters are 112 pixels, of which 40 places have 15 each
    drawn = list(labels(named(20, 25), 40, 100.0))
    assert [label["x"] for label in drawn] == [20, 25]
    assert abs(drawn[0]["ay"]) < abs(drawn[1]["ay"])


def test_no_name_lies_over_another_or_over_its_line() -> None:
    drawn = list(labels(named(*range(5, 35)), 40, 100.0))
    assert len(drawn) >= 5
    for label in drawn:
        for other in drawn:
            apart = 15 * abs(label["x"] - other["x"])
            if other["ay"] == label["ay"]:
                assert apart == 0 or apart > 55
            else:
                assert apart > 55


def test_what_is_far_apart_is_named_however_many_there_are_between() -> None:
    assert [label["x"] for label in labels(named(5, 160, 330), 336, 100.0)] == [5, 160, 330]


def test_at_the_edges_a_name_stays_within_the_picture() -> None:
    drawn = labels(named(0, 160, 335), 336, 100.0)
    assert [label["xanchor"] for label in drawn] == ["left", "center", "right"]


def test_below_a_point_near_the_top_above_one_near_the_bottom() -> None:
    (high,) = labels(named(1, height=95.0), 6, 100.0)
    (low,) = labels(named(1, height=5.0), 6, 100.0)
    assert high["ay"] > 0 > low["ay"]


def test_a_long_name_is_short_and_no_markup() -> None:
    (label,) = labels(named(1, name="<b>" + 100 * "x"), 6, 0.0)
    assert label["text"].startswith("&lt;b&gt;xxx")
    assert len(label["text"]) < 60
