"""Files of samples; errors are one sentence with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.series import Sampled
from plumbline.store.samples import read_samples
from tests.package.recorded import table

HEAD = "host,day,ts,component,latency,coverage,baseline\n"


def written(folder: Path, text: str, name: str = "samples.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_latency_becomes_calls_per_second(tmp_path: Path) -> None:
    read = read_samples(written(tmp_path, HEAD + "h1,2023-11-15,1700006400,disk1,100,0.95,80\n"))
    assert read.samples == [
        Sampled("h1", "2023-11-15", 1700006400.0, "disk1", 10_000.0, 0.95, 12_500.0)
    ]
    assert (read.unit, read.without) == ("calls/s", 0)


def test_a_rate_is_unchanged_and_a_missing_day_follows_from_the_time_stamp(tmp_path: Path) -> None:
    read = read_samples(written(tmp_path, "ts,component,rate\n1700006400,a,5e6\n"))
    assert read.samples == [Sampled("", "2023-11-15", 1700006400.0, "a", 5e6)]
    assert read.unit == "B/s"


def test_an_idle_disk_has_no_latency_and_is_counted(tmp_path: Path) -> None:
    text = HEAD + "h1,2023-11-15,1700006400,disk1,,,\nh1,2023-11-15,1700006400,disk2,0,,\n"
    read = read_samples(written(tmp_path, text))
    assert (read.samples, read.without) == ([], 2)


def test_a_compressed_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv.gz"
    path.write_bytes(gzip.compress(b"ts,disk,latency_us\n1700006400,d1,50\n"))
    assert read_samples(path).samples[0].rate == 20_000.0


def test_the_coverage_of_benchmark_summaries_is_the_share_of_the_job(tmp_path: Path) -> None:
    head = (
        "_datetime_start,_file_system,darshan_app,darshan_nprocs,darshan_agg_perf_by_slowest_posix,"
        "darshan_tot_bytes_read_posix,darshan_tot_bytes_written_posix,fs_tot_gibs_read,"
        "fs_tot_gibs_written\n"
    )
    rows = (
        "1700006400,scratch1,/apps/ior,64,1000,0,1099511627776,24,1000\n"
        "1700006400,,/apps/ior,64,1000,0,1099511627776,,\n"
    )
    read = read_samples(written(tmp_path, head + rows))
    (sample,) = read.samples
    assert sample.component == "scratch1 ior write 64 ranks 2^40 bytes"
    assert sample.rate == 1000 * 2**20
    assert sample.coverage == 1.0
    assert read.without == 1


SUMMARIES = (
    "_datetime_start,_file_system,darshan_agg_perf_by_slowest_posix,darshan_app,darshan_nprocs,"
    "darshan_tot_bytes_read_posix,darshan_tot_bytes_written_posix,fs_tot_gibs_read\n"
)
RUNS = (
    "{}1487065296.0,scratch1,19248.5,/apps/dbscan_read,64,1099511627776,0,1024\n"
    "{}1487065188.0,scratch2,20150.2,/apps/dbscan_read,64,1099511627776,0,\n"
)


@pytest.mark.parametrize("unnamed", ["", ","])
def test_row_numbers_without_a_name_are_left_out(tmp_path: Path, unnamed: str) -> None:
    """Pandas writes its index with an empty name, or with none in a shorter header."""
    plain = read_samples(written(tmp_path, SUMMARIES + RUNS.format("", "")))
    assert [sample.rate for sample in plain.samples] == [19248.5 * 2**20, 20150.2 * 2**20]
    numbered = unnamed + SUMMARIES + RUNS.format("2865,", "17,")
    assert read_samples(written(tmp_path, numbered)) == plain


def test_a_byte_order_mark_does_not_belong_to_a_name(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("ts,component,rate\n1700006400,a,5\n", encoding="utf-8-sig")
    assert read_samples(path).samples[0].component == "a"


def test_a_row_without_a_component_counts_and_an_empty_line_does_not(tmp_path: Path) -> None:
    text = "ts,component,rate\n1700006400,,5\n\n1700006400,a,5\n"
    read = read_samples(written(tmp_path, text))
    assert ([sample.component for sample in read.samples], read.without) == (["a"], 1)


@pytest.mark.parametrize(
    ("ts", "unit"),
    [
        ("99999999999", None),
        ("100000000000", "milliseconds by its magnitude; divide the column by 1000,"),
        ("1658149215123", "milliseconds"),
        ("1658149215123456", "microseconds by its magnitude; divide the column by 1000000,"),
        ("1658149215123456789", "nanoseconds"),
    ],
)
@pytest.mark.parametrize("day", ["", "2022-07-18"])
def test_time_stamps_of_a_finer_unit_are_refused(
    tmp_path: Path, ts: str, unit: str | None, day: str
) -> None:
    path = written(tmp_path, f"day,ts,component,rate\n{day},{ts},a,5\n")
    if unit is None:
        assert read_samples(path).samples[0].at == float(ts)
        return
    with pytest.raises(DocumentError, match=rf"samples\.csv line 2: ts {ts} is in {unit}"):
        read_samples(path)


@pytest.mark.parametrize("case", table("refused_samples.yml"), ids=lambda case: case["says"])
def test_errors_in_sample_files_are_named(tmp_path: Path, case: dict[str, str]) -> None:
    with pytest.raises(DocumentError, match=r"samples\.csv") as caught:
        read_samples(written(tmp_path, case["text"]))
    assert case["says"] in str(caught.value)


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00cut", b"\xff\xfe\x00"])
def test_a_file_of_the_wrong_kind_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "samples.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=r"samples.csv.gz cannot be read: "):
        read_samples(path)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"nowhere.csv cannot be read: .*No such file"):
        read_samples(tmp_path / "nowhere.csv")
