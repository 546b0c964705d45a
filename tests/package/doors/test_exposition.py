"""Metrics for Prometheus are read correctly by its client and by promtool."""

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
    # samples with different labels
    (("component", "disk1"), ("file_system", "")): 1 / 3,
    **{(("component", name),): float(place) for place, name in enumerate(HOSTILE)},
    (("component", "\udcff"),): 1795241041.25,
}
FAMILIES = (
    Family("plumbline_rate_bytes_per_second", "Rate, of \\n and \n.", SAMPLES),
    Family("plumbline_judged_timestamp_seconds", "When.", {(): 1795241041.25}),
    Family("plumbline_coverage_ratio", "Nothing.", {}),
)


def test_names_survive_a_round_trip() -> None:
    samples: dict[Labels, float] = {
        (("component", name),): float(place) for place, name in enumerate(HOSTILE)
    }
    (family,) = text_string_to_metric_families(exposition([Family("a", "b", samples)]))
    assert family.type == "gauge"
    assert {sample.labels["component"]: sample.value for sample in family.samples} == {
        name: float(place) for place, name in enumerate(HOSTILE)
    }


@pytest.mark.parametrize("value", [0, 3, 80.3e6, 1 / 3, 1795241041.25, 1e-9, 5e-324])
def test_a_number_keeps_all_its_digits(value: float) -> None:
    (family,) = text_string_to_metric_families(exposition([Family("a", "b", {(): value})]))
    assert [sample.value for sample in family.samples] == [value]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"rate of .*component.* is"):
        exposition([Family("rate", "b", {(("component", "x"),): value})])


def test_a_family_without_samples_is_not_written() -> None:
    assert exposition([Family("a", "b", {})]) == ""


def test_an_empty_label_is_not_written() -> None:
    text = exposition([Family("a", "b", {(("layer", "raw"), ("file_system", "")): 1})])
    assert text.splitlines()[2] == 'a{layer="raw"} 1'


def test_invalid_unicode_can_be_written() -> None:
    exposition([Family("a", "b", {(("component", "\udcff"),): 1})]).encode("utf-8")


def test_all_families_survive_a_round_trip() -> None:
    read = tuple(text_string_to_metric_families(exposition(FAMILIES)))
    headers = [(family.name, family.documentation) for family in read]
    assert headers == [family[:2] for family in FAMILIES[:2]]
    assert [len(family.samples) for family in read] == [len(SAMPLES), 1]
    assert {family.type for family in read} == {"gauge"}


def test_promtool_finds_nothing_wrong() -> None:
    assert complaints(exposition(FAMILIES)) == ""
