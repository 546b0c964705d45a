"""Detection times of faults on whole sites, by ``plumbline simulate``.

``python -m tests.bench.simulated [SITE ...]`` prints the table that docs/evidence.md has.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from plumbline.cli import main as plumbline
from tests.bench.campaigns import paragraph

INVENTORIES = Path(__file__).parents[2] / "inventories"
SITES = ("edison", "redstorm", "example", "lab")
SEED = 77531

_FEW = ("--random-faults", "2", "--fleets", "8", "--days", "31")
_MANY = ("--random-faults", "8", "--fleets", "2", "--days", "31")
"""Sixteen faults, few at a time where a fleet is small."""

_RELEASE = ("--fleets", "2", "--days", "20", "--fault")
_FLOOR = ("--fleets", "2", "--days", "10", "--fault")


class Row(NamedTuple):
    """A simulation: its faults in words for the table, and as arguments of the command."""

    what: str
    argv: tuple[str, ...]


def faults(site: str) -> Iterator[Row]:
    """Yield the faults of a site."""
    size = _MANY if site in ("edison", "redstorm") else _FEW
    for loss in ("2%", "20%", "40%", "60,75,90%"):
        yield Row(f"losses of {loss.replace('%', ' %')}", (*size, "--loss", loss))
    yield Row("a release, reads 30 % slower", (*_RELEASE, "release-2.4.0=30%:read@10"))
    yield Row("a site at a quarter of its ceiling", (*_FLOOR, "site=75%@0"))


def simulated(sites: Sequence[str] = SITES) -> Iterator[str]:
    """Yield the table of faults."""
    yield paragraph(
        f"With faults (`python -m tests.bench.simulated`, `--seed {SEED}`): the share of the "
        "*seen* faults, those that slow a measurement, found within so many days, and the "
        "notifications per fault. *By chance* is what the same fleets without the faults would be "
        "credited with."
    )
    yield ""
    yield (
        "| site | fault | seen | in 1 day | 3 | 7 | 14 | 30 | by chance in 30 | alarms a fault | "
        "options |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for site in sites:
        for row in faults(site):
            yield _faulty(site, row, simulate(site, row.argv))


def simulate(site: str, argv: Sequence[str]) -> Mapping[str, Any]:
    """Run a simulation and return its figures."""
    given = ["simulate", "-i", str(INVENTORIES / site), "--seed", str(SEED), "--json", *argv]
    with redirect_stdout(StringIO()) as printed:
        plumbline(given)
    figures: Mapping[str, Any] = json.loads(printed.getvalue())
    return figures


def _faulty(site: str, row: Row, of: Mapping[str, Any]) -> str:
    """Return a row; several sizes share the mean."""
    seen = sum(size["identifiable"] for size in of["detection"])
    days = ("1", "3", "7", "14", "30")
    within = [_share(of["detection"], limit) for limit in days]
    number = of["alarms_a_fault"]
    cells = (
        site,
        row.what,
        seen,
        *within,
        _share(of["chance"], "30"),
        "-" if number is None else f"{number:.1f}",
        f"`{' '.join(row.argv)}`",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _share(sizes: Sequence[Mapping[str, Any]], limit: str) -> str:
    """Return the mean share found within a limit, weighted by the faults of each size."""
    sizes_with_shares = [
        (size["identifiable"], size["within"][limit])
        for size in sizes
        if size["within"][limit] is not None
    ]
    total = sum(number for number, _ in sizes_with_shares)
    if not total:
        return "-"
    return f"{100 * sum(number * share for number, share in sizes_with_shares) / total:.0f} %"


def main() -> int:
    """Print the section for some or all sites."""
    for text in simulated(sys.argv[1:] or SITES):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
