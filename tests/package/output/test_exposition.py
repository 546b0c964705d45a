"""What is written for Prometheus is read by its own client as it was meant."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.output.exposition import Family, Labels, exposition

HOSTILE = (
    'quote " and backslash \\',
    "two\nlines",
    "}{=,",
    "\\n is no line",
    "targét ☃",
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
