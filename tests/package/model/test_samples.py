"""Samples of a series are kept as numbers, and are those that were given."""

from __future__ import annotations

import pytest

from plumbline.model.series import SAMPLES, Sample, Samples

FULL = Sample(200.0, 90e6, 0.75, 100e6, 3, "oss3", True, 0.01, 0.2)
BARE = Sample(100.0, None, None, None, 0, "oss3")


def test_each_sample_is_the_one_that_was_given() -> None:
    samples = Samples.of([FULL, BARE])
    assert list(samples) == [FULL, BARE]
    assert (samples[0], samples[-1], len(samples)) == (FULL, BARE, 2)
    assert [type(value) for value in samples[0]] == [type(value) for value in FULL]


def test_a_part_of_them_is_a_tuple() -> None:
    samples = Samples.of([FULL, BARE])
    assert (samples[1:], samples[2:], samples[::-1]) == ((BARE,), (), (BARE, FULL))


def test_there_is_no_sample_after_the_last() -> None:
    with pytest.raises(IndexError):
        Samples.of([FULL])[1]


def test_they_equal_the_same_samples_in_another_sequence() -> None:
    assert Samples.of([FULL, BARE]) == [FULL, BARE]
    assert Samples.of([FULL, BARE]) != Samples.of([FULL])
    assert Samples.of(()) != "samples"


def test_samples_in_this_form_are_returned_as_they_are() -> None:
    samples = Samples.of([FULL])
    assert Samples.of(samples) is samples


def test_a_column_has_nan_for_what_is_unknown() -> None:
    at, coverage = map(Samples.of([FULL, BARE]).column, ("started_at", "coverage"))
    assert list(at) == [200.0, 100.0]
    assert list(coverage) == pytest.approx([0.75, float("nan")], nan_ok=True)


def test_a_further_run_displaces_the_oldest_of_a_full_series() -> None:
    full = Samples.of([BARE._replace(started_at=float(at)) for at in range(SAMPLES, 0, -1)])
    longer = full.then(FULL)
    assert (len(longer), longer[0], longer[1:]) == (SAMPLES, FULL, full[:-1])
    assert Samples.of(()).then(FULL) == [FULL]


def test_a_field_is_replaced_of_the_newest_if_it_is_known_of_fewer() -> None:
    samples = Samples.of([BARE, BARE])
    replaced = samples.having("apart", [0.1])
    assert [sample.apart for sample in replaced] == [0.1, None]
    assert [sample.apart for sample in samples.having("apart", [None, 0.1, 0.2])] == [None, 0.1]
    assert [sample.apart for sample in samples] == [None, None]
