"""Texts with a unit: rates, sizes and durations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model import units
from plumbline.model.errors import DocumentError
from tests.package.recorded import table

QUANTITIES = table("quantities.yml")
READERS = {
    "rates": units.parse_rate,
    "sizes": units.parse_bytes,
    "durations": units.parse_duration,
    "line_rates": units.parse_line_rate,
    "printed_sizes": units.parse_bytes,
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind in READERS for text in QUANTITIES[kind]]
)
def test_a_quantity_has_the_usual_meaning_of_its_unit(kind: str, text: str) -> None:
    assert READERS[kind](text) == QUANTITIES[kind][text]


@pytest.mark.parametrize("text", QUANTITIES["no_rates"])
def test_an_invalid_rate_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(DocumentError, match="rate"):
        units.parse_rate(text)


@pytest.mark.parametrize("text", QUANTITIES["no_durations"])
def test_an_invalid_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(DocumentError, match=f"duration {re.escape(repr(text))}"):
        units.parse_duration(text)


def test_the_refusal_of_a_unit_names_the_known_ones() -> None:
    with pytest.raises(DocumentError, match=r"write for example 10m \(s, m or min, h, d, w\)"):
        units.parse_duration("5 M")


@pytest.mark.parametrize("text", ["1e308 MiB", "1e19 B", "9" * 60 + " GB"])
def test_more_than_any_machine_has_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="is more than any machine has"):
        units.parse_bytes(text)


@pytest.mark.parametrize("digits", ["1" * 100_000, "1." * 50_000, "1e" * 50_000, " " * 100_000])
def test_an_endless_quantity_is_refused_in_a_short_message(digits: str) -> None:
    with pytest.raises(DocumentError, match="is not a number with a unit") as caught:
        units.parse_rate(f"{digits} MB/s!")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("text", ["4 GB/s", "4 GiB/s", "4000MB/s "])
def test_a_line_rate_in_bytes_is_refused_with_the_rate_in_bits(text: str) -> None:
    with pytest.raises(DocumentError, match=r"counts bytes.* write 4\w* ?\w*bit/s if .* rate: 4"):
        units.parse_line_rate(text)


def test_short_units_are_for_times_only() -> None:
    with pytest.raises(DocumentError, match="size '5 m'"):
        units.parse_bytes("5 m")


@pytest.mark.parametrize(("text", "rate"), QUANTITIES["printed_rates"].items())
def test_a_rate_is_printed_with_one_decimal_and_its_unit(text: str, rate: float) -> None:
    assert units.format_rate(rate) == text


@given(st.floats(min_value=1e6, max_value=9e12))
def test_a_printed_rate_reads_back_within_its_last_digit(rate: float) -> None:
    assert units.parse_rate(units.format_rate(rate)) == pytest.approx(rate, rel=0.06)


def test_tcp_goodput_follows_from_ethernet_framing() -> None:
    assert units.tcp_goodput(1500) == pytest.approx(0.949, abs=5e-4)
    assert units.tcp_goodput(1500, 52, 14) == pytest.approx(1448 / 1514)


@pytest.mark.parametrize(("text", "size"), QUANTITIES["printed_sizes"].items())
def test_a_size_is_written_exactly(text: str, size: int) -> None:
    assert units.format_size(size) == text


@pytest.mark.parametrize(
    ("value", "text"), [(117e3, "117.0 kops/s"), (2.5e6, "2.5 Mops/s"), (12, "12 ops/s")]
)
def test_calls_have_the_prefix_of_their_size(value: float, text: str) -> None:
    assert units.format_amount(value, "ops/s") == text
