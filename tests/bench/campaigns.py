"""Random faults through plan, judge and locator, by ``plumbline simulate --campaign``.

Prints the section that docs/evidence.md has.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import Any, Iterator, Mapping, NamedTuple

from plumbline.cli import main as plumbline

INVENTORIES = Path(__file__).parents[2] / "inventories"
SEED = 5417


class Row(NamedTuple):
    """A campaign: site, noise, faults at once, number of attempts."""

    site: str
    noise: str
    at_once: int
    number: int


ROWS = (
    Row("edison", "year", 1, 60),
    Row("edison", "year", 0, 60),
    Row("redstorm", "year", 1, 40),
    Row("redstorm", "year", 0, 40),
    Row("example", "year", 1, 100),
    Row("example", "year", 0, 100),
    Row("lab", "year", 1, 100),
    Row("lab", "year", 0, 100),
)


def campaigns() -> Iterator[str]:
    """Yield the section on locating random faults."""
    yield "\n## Random faults through the whole chain\n"
    yield paragraph(
        "`plumbline simulate -i inventories/SITE --noise NOISE --at-once FAULTS --campaign "
        f"ATTEMPTS --seed {SEED}`: losses of 20 to 90 %, located on the last of the 14 days after "
        "(32 of inventories/example). *Hidden* draws slow nothing by a fifth; *alone* counts "
        "single faults that no other part's loss resembles; *without a note* are alarms of slowed "
        "parts that no suspect explains. The lab has an `alarm_budget` of 24 and a larger "
        "`peer_loss`."
    )
    yield ""
    yield (
        "| site | noise | faults | attempts | hidden | all suspected | alone | suspects on "
        "average | false suspects | alarms without a note |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in ROWS:
        yield line(row, tried(row))
    yield ""
    yield paragraph(
        "In the lab the median of six targets moves by chance, so losses of a fifth to three "
        "tenths are missed at times. Weekly reads give three runs in a month."
    )
    yield ""
    yield paragraph(
        "A false suspect stays for some nights. Faults that slow all devices of a part alike are "
        "not drawn (docs/simulate.md); tests/package/parts/locate/test_alike.py has them."
    )


def paragraph(text: str) -> str:
    """Return a text wrapped to the width of the page."""
    return fill(text, width=125, break_long_words=False, break_on_hyphens=False)


def tried(row: Row) -> Mapping[str, Any]:
    """Run a campaign and return its figures."""
    argv = ["simulate", "-i", str(INVENTORIES / row.site), "--noise", row.noise, "--json"]
    argv += ["--at-once", str(row.at_once), "--campaign", str(row.number), "--seed", str(SEED)]
    with redirect_stdout(StringIO()) as printed:
        plumbline(argv)
    figures: Mapping[str, Any] = json.loads(printed.getvalue())
    return figures


def line(row: Row, figures: Mapping[str, Any]) -> str:
    """Return a row of the table."""
    inside = (
        f"{figures['inside']} ({100 * figures['inside'] / figures['attempts']:.1f} %)"
        if row.at_once
        else ""
    )
    alone = f"{figures['alone']} of {figures['identifiable']}" if row.at_once == 1 else ""
    false = "" if row.at_once else f"{figures['suspected']} of {figures['attempts']}"
    mean = f"{figures['suspects'] / figures['attempts']:.1f}"
    unexplained = f"{figures['unexplained']} of {figures['alarms']}" if row.at_once else ""
    cells = (row.site, row.noise, row.at_once, figures["attempts"], figures["hidden"])
    return f"| {' | '.join(map(str, (*cells, inside, alone, mean, false, unexplained)))} |"


def main() -> int:
    """Print the section."""
    for text in campaigns():
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
