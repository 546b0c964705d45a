"""Quantities are written once, with their unit, and mean the same everywhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model import units
from plumbline.model.errors import DocumentError


@pytest.mark.parametrize(
    ("text", "rate_Bps"),
    [
        ("200 MB/s", 200e6),
        ("200MB/s", 200e6),
        ("1 GiB/s", 2.0**30),
        ("1 Gbit/s", 125e6),
        ("2 Gb/s", 250e6),
        ("1.5e3 kB/s", 1.5e6),
        ("7 B/s", 7.0),
    ],
)
def test_a_rate_means_what_the_field_means_by_its_unit(text: str, rate_Bps: float) -> None:
    assert units.parse_rate(text) == rate_Bps


@pytest.mark.parametrize("text", ["", "fast", "200", "200 MB", "-5 MB/s", "5 mB/s", "1e999 B/s"])
def test_a_rate_that_is_not_one_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(DocumentError, match="rate"):
        units.parse_rate(text)


@pytest.mark.parametrize(
    ("text", "size"), [("1 MiB", 1 << 20), ("1 MB", 10**6), ("4096 B", 4096), ("1.5 GiB", 3 << 29)]
)
def test_a_size_keeps_decimal_and_binary_prefixes_apart(text: str, size: int) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30 s", 30),
        ("90s", 90),
        ("45", 45),
        ("10 min", 600),
        ("10min", 600),
        ("5m", 300),
        ("1.5 m", 90),
        ("36 h", 129600),
        ("2d", 172800),
        ("1 w", 604800),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["5 M", "5MB", "5 ms", "1 H", "1h30m", "-1 h", "", "soon", "m"])
def test_what_may_be_no_duration_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(DocumentError, match=f"duration {re.escape(repr(text))}"):
        units.parse_duration(text)


def test_the_refusal_of_a_unit_names_those_that_are_known() -> None:
    with pytest.raises(DocumentError, match=r"write for example 10m \(s, m or min, h, d, w\)"):
        units.parse_duration("5 M")


@pytest.mark.parametrize("text", ["1e308 MiB", "1e19 B", "9" * 60 + " GB"])
def test_more_than_any_machine_has_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="is more than any machine has"):
        units.parse_bytes(text)


@pytest.mark.parametrize("digits", ["1" * 100_000, "1." * 50_000, "1e" * 50_000, " " * 100_000])
def test_a_quantity_without_end_is_refused_by_its_length(digits: str) -> None:
    with pytest.raises(DocumentError, match="is not a number with a unit") as caught:
        units.parse_rate(f"{digits} MB/s!")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    ("text", "rate_Bps"), [("10 Gbit/s", 1.25e9), ("2 Gb/s", 250e6), ("1 Gibit/s", 2.0**27)]
)
def test_a_line_rate_is_in_bits(text: str, rate_Bps: float) -> None:
    assert units.parse_line_rate(text) == rate_Bps


@pytest.mark.parametrize("text", ["4 GB/s", "4 GiB/s", "4000MB/s "])
def test_a_line_rate_in_bytes_is_refused_with_the_one_in_bits(text: str) -> None:
    with pytest.raises(DocumentError, match=r"counts bytes.* write 4\w* ?\w*bit/s if .* rate: 4"):
        units.parse_line_rate(text)


def test_short_forms_are_those_of_time_alone() -> None:
    with pytest.raises(DocumentError, match="size '5 m'"):
        units.parse_bytes("5 m")


@pytest.mark.parametrize(
    ("rate_Bps", "text"),
    [(80.3e6, "80.3 MB/s"), (250e6, "250.0 MB/s"), (12e9, "12.0 GB/s"), (950, "950 B/s")],
)
def test_a_rate_is_printed_with_one_digit_and_its_unit(rate_Bps: float, text: str) -> None:
    assert units.format_rate(rate_Bps) == text


@given(st.floats(min_value=1e6, max_value=9e12))
def test_a_printed_rate_reads_back_within_its_last_digit(rate_Bps: float) -> None:
    assert units.parse_rate(units.format_rate(rate_Bps)) == pytest.approx(rate_Bps, rel=0.06)


def test_tcp_goodput_is_that_of_the_ethernet_arithmetic() -> None:
    assert units.tcp_goodput(1500) == pytest.approx(0.949, abs=5e-4)
    assert units.tcp_goodput(1500, 52, 14) == pytest.approx(1448 / 1514)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1 << 30, "1 GiB"),
        (3 << 20, "3 MiB"),
        ((1 << 30) + 512, "1073742336 B"),
        (1536, "1536 B"),
        (4096, "4 KiB"),
        (1000, "1000 B"),
        (0, "0 B"),
    ],
)
def test_a_size_is_written_exactly(size: int, text: str) -> None:
    assert units.format_size(size) == text
    assert units.parse_bytes(text) == size
