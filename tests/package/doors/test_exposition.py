"""What is written for Prometheus is read by its own client, and by promtool, as it was meant."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.doors.prometheus import Family, Labels, exposition
from tests.package.prometheus import complaints

HOSTILE = (
    'quote " and backslash \\',
    "two\nlines",
    "}{=,",
    "\\n is no line",
    "targét ☃",
)
SAMPLES: dict[Labels, float] = {
    (("component", "OST0"), ("layer", "ost"), ("file_system", "scratch")): 80.3e6,
    # neither has all the labels of the other
    (("component", "disk1"), ("file_system", "")): 1 / 3,
    **{(("component", name),): float(place) for place, name in enumerate(HOSTILE)},
    (("component", "\udcff"),): 1795241041.25,
}
FAMILIES = (
    Family("plumbline_rate_bytes_per_second", "Rate, of \\n and \n.", SAMPLES),
    Family("plumbline_judged_timestamp_seconds", "When.", {(): 1795241041.25}),
    Family("plumbline_coverage_ratio", "Nothing.", {}),
)


def test_names_come_back_as_they_were() -> None:
    samples: dict[Labels, float] = {
        (("component", name),): float(place) for place, name in enumerate(HOSTILE)
    }
    (family,) = text_string_to_metric_families(exposition([Family("a", "b", samples)]))
    assert family.type == "gauge"
    assert {one.labels["component"]: one.value for one in family.samples} == {
        name: float(place) for place, name in enumerate(HOSTILE)
    }


@pytest.mark.parametrize("value", [0, 3, 80.3e6, 1 / 3, 1795241041.25, 1e-9, 5e-324])
def test_a_number_keeps_all_its_digits(value: float) -> None:
    (family,) = text_string_to_metric_families(exposition([Family("a", "b", {(): value})]))
    assert [one.value for one in family.samples] == [value]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match=r"rate of .*component.* is"):
        exposition([Family("rate", "b", {(("component", "x"),): value})])


def test_a_family_of_which_nothing_is_known_is_not_named() -> None:
    assert exposition([Family("a", "b", {})]) == ""


def test_an_empty_value_is_no_label() -> None:
    text = exposition([Family("a", "b", {(("layer", "raw"), ("file_system", "")): 1})])
    assert text.splitlines()[2] == 'a{layer="raw"} 1'


def test_what_is_no_unicode_can_be_written() -> None:
    exposition([Family("a", "b", {(("component", "\udcff"),): 1})]).encode("utf-8")


def test_names_texts_and_values_of_all_families_come_back() -> None:
    found = tuple(text_string_to_metric_families(exposition(FAMILIES)))
    assert [(one.name, one.documentation) for one in found] == [one[:2] for one in FAMILIES[:2]]
    assert [len(one.samples) for one in found] == [len(SAMPLES), 1]
    assert {one.type for one in found} == {"gauge"}


def test_promtool_finds_nothing_wrong() -> None:
    assert complaints(exposition(FAMILIES)) == ""
