"""Quantities show, write and read their figures; with seconds, less is better."""

from __future__ import annotations

import copy
import pickle

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.quantity import BYTES_PER_S, OPERATIONS_PER_S, SECONDS, Quantity
from plumbline.model.record import Operation

SHOWN = [
    (BYTES_PER_S, 80.3e6, "80.3 MB/s", "80.3 MB/s"),
    (OPERATIONS_PER_S, 850.0, "850 ops/s", "0.85 kops/s"),
    (OPERATIONS_PER_S, 4250.0, "4.2 kops/s", "4.25 kops/s"),
    (SECONDS, 500.0, "2.0 ms", "0.002 s"),
    (SECONDS, 1 / 4e-5, "40.0 us", "4e-05 s"),
    (SECONDS, 0.4, "2.5 s", "2.5 s"),
]


@pytest.mark.parametrize(("quantity", "rate", "shown", "text"), SHOWN)
def test_a_rate_is_shown_and_written_with_its_unit(
    quantity: Quantity, rate: float, shown: str, text: str
) -> None:
    assert quantity.format(rate) == shown
    assert quantity.text(rate) == text
    assert quantity.parse(text) == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize(
    ("quantity", "text", "message"),
    [
        (OPERATIONS_PER_S, "200 MB/s", "no known unit; write for example 200 ops/s"),
        (SECONDS, "2 ops/s", "no known unit"),
        (SECONDS, "0 s", "not above zero"),
        (SECONDS, "1e-300 s", "not above zero"),
        (BYTES_PER_S, "-1 MB/s", "not above zero"),
    ],
)
def test_a_figure_of_another_quantity_is_refused(
    quantity: Quantity, text: str, message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        quantity.parse(text)


def test_a_chart_has_figures_in_the_unit_of_its_axis() -> None:
    assert [quantity.pictured(500.0) for quantity in (BYTES_PER_S, OPERATIONS_PER_S, SECONDS)] == [
        0.001,
        500.0,
        2.0,
    ]
    assert SECONDS.pictured(None) is SECONDS.pictured(float("nan")) is None


@pytest.mark.parametrize("rate", [0.0, -1.0, float("-inf")])
def test_a_limit_of_seconds_without_an_end_is_infinite(rate: float) -> None:
    assert SECONDS.figure(rate) == float("inf")


def test_an_operation_is_the_same_object_from_any_source() -> None:
    assert Operation("read") is Operation.READ
    assert pickle.loads(pickle.dumps(Operation.READ)) is Operation.READ
    assert copy.deepcopy(Operation.READ) is Operation.READ
    with pytest.raises(ValueError, match="'erase' is no operation"):
        Operation("erase")


def test_two_layers_may_share_an_operation_in_one_quantity() -> None:
    assert Operation.define("read", BYTES_PER_S) is Operation.READ
    with pytest.raises(ValueError, match="operation read is in B/s already"):
        Operation.define("read", SECONDS)
