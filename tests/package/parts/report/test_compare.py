"""``plumbline compare`` compares two periods or two runs of a site."""

from __future__ import annotations

import time
from math import log, sqrt
from pathlib import Path
from typing import Iterator

import pytest

from plumbline.cli.options import named_directories
from plumbline.model.errors import UsageError
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.trend import Note
from plumbline.model.units import DAY_S
from plumbline.site.comparison import caveat
from plumbline.store.collection import add_note
from tests.package.cli.driver import Run
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.years import document, plan_of, write
from tests.package.records import record

# --- Caveats before directories are compared.


GIB = 1 << 30
FITS = "{} fit into the page cache"


@pytest.mark.parametrize(
    ("other", "sizes", "start", "advice"),
    [
        ("b", (4, 2, 4), "a, b lie on one device: a difference is noise", ""),
        ("/proc", (0.25, 3, 0.25), FITS.format("256 MiB"), "--bytes 6GiB"),
        ("/proc", (4, 2, 4), "", ""),
        # a re-read
        ("/proc", (0, 4, 0), "", ""),
        ("/proc", (1, 3, 0.25), FITS.format("1 GiB"), "--bytes 2GiB"),
    ],
    ids=[
        "one device",
        "page cache",
        "fine",
        "writes nothing",
        "ranks share the page cache of a host",
    ],
)
def test_a_comparison_that_shows_little_gets_a_warning(
    tmp_path: Path, other: str, sizes: tuple[float, ...], start: str, advice: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    directories = {"a": str(tmp_path / "a"), "b": str(tmp_path / other)}
    warning = caveat(directories, *(int(size * GIB) for size in sizes))
    assert warning.startswith(start)
    assert advice in warning
    assert bool(warning) is bool(start)
    assert ("page cache" in warning) is bool(advice)


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("{}/b", "--directory a and b are the same folder"),
        ("{}/nowhere", "nowhere: No such file or directory; name a directory that is there"),
        ("{}/a/file", "file: Not a directory; name a directory that is there"),
    ],
)
def test_an_invalid_second_directory_is_refused_at_once(
    tmp_path: Path, second: str, sentence: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match=sentence) as error:
        named_directories([("a", f"{tmp_path}/a"), ("b", second.format(tmp_path))])
    assert "realpath" not in str(error.value)


# --- ``plumbline compare`` on two periods of a site.


TODAY = time.time() // DAY_S * DAY_S
UPGRADE = TODAY - 4 * DAY_S
SLOWER = 0.8
NOISE = 0.98
LAGGARD = "scratch-OST0002"


def day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def measured(targets: list[str]) -> Iterator[Record]:
    """Yield eight nights of reads; an upgrade after the fourth slows one target more."""
    for night in range(8):
        at = TODAY - (8 - night) * DAY_S + 3600
        for target in targets:
            rate = 100e6 * (NOISE if night % 2 else 1 / NOISE)
            if at >= UPGRADE:
                rate *= SLOWER * (0.5 if target == LAGGARD else 1)
            yield record(
                id=f"{night} {target}",
                run_id=f"night-{night}",
                component=target,
                operation=Operation.READ,
                scenario=Scenario.SINGLE,
                started_at=at,
                finished_at=at + 5,
                rate=rate,
            )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    plan = plan_of(lab())
    folder = tmp_path_factory.mktemp("site")
    targets = [entry.component for entry in plan.expectations["client1"] if entry.layer == "ost"]
    plan_file, history = write(folder, document(plan), measured(targets))
    add_note(history, Note(UPGRADE, "Lustre 2.15.8"))
    return "--plan", str(plan_file), "--history", str(history)


def test_the_loss_after_an_upgrade_is_shown_with_the_ceiling(
    site: tuple[str, ...], run: Run
) -> None:
    periods = (
        f"{day(TODAY - 8 * DAY_S)}..{day(TODAY - 5 * DAY_S)}",
        f"{day(UPGRADE)}..{day(TODAY)}",
    )
    (test,) = run("compare", *periods, *site, "--json").document["tests"]
    assert (test["name"], test["members"], test["quantity"]) == ("ost read", 6, "B/s")
    assert (test["before"], test["after"]) == pytest.approx((100e6, 80e6), rel=1e-3)
    assert test["change"] == pytest.approx(SLOWER - 1)
    # of four nights in each period: 1.2533 x 1.4826 x MAD / sqrt(4), twice
    assert test["error"] == pytest.approx(-1.2533 * 1.4826 * log(NOISE) / sqrt(2), rel=1e-3)
    assert test["apart"] == [[LAGGARD, pytest.approx(SLOWER / 2 - 1)]]
    lines = run("compare", *periods, *site).out.splitlines()
    assert lines[1].split()[:3] == ["ost", "read", "6"]
    assert " -20.0 % ± 3 % " in lines[1]
    assert f"ost read, apart from the others: {LAGGARD} -60.0 %" in lines
    assert lines[-1].endswith("UTC: Lustre 2.15.8")


def test_runs_are_compared_by_name(site: tuple[str, ...], run: Run) -> None:
    (test,) = run("compare", "night-3", "night-4", *site, "--json").document["tests"]
    assert test["change"] == pytest.approx(SLOWER / NOISE**2 - 1)
    assert test["error"] is None


def test_every_other_night_is_compared_with_those_between(site: tuple[str, ...], run: Run) -> None:
    """As to revert a setting again and again on a file system that others use."""
    even, odd = (
        ",".join(day(TODAY - (8 - night) * DAY_S) for night in nights)
        for nights in ((0, 2, 4), (1, 3, 5))
    )
    document = run("compare", even, odd, *site, "--json").document
    (test,) = document["tests"]
    assert (test["before"], test["after"]) == pytest.approx((100e6 / NOISE, 100e6 * NOISE))
    # each setting gives the same in most of its nights
    assert test["error"] == pytest.approx(0, abs=1e-9)
    assert document["before"]["name"] == even
    assert len(document["before"]["spans"]) == 3
    runs = run(
        "compare", "night-0,night-2,night-4", "night-1,night-3,night-5", *site, "--json"
    ).document
    assert runs["tests"] == document["tests"]


@pytest.mark.parametrize(
    ("periods", "sentence"),
    [
        (("yesterday", "2026-11-20"), "'yesterday' is no day, such as 2026-11-20, no days"),
        (("2026-11-20..2026-11-10", "2026-11-20"), "ends before it begins"),
        (("2001-01-01", "2001-01-02"), "nothing was measured both in 2001-01-01 and in 2001-01-02"),
    ],
)
def test_a_period_without_common_measurements_is_refused(
    site: tuple[str, ...], run: Run, periods: tuple[str, str], sentence: str
) -> None:
    assert sentence in run("compare", *periods, *site, code=64).err
