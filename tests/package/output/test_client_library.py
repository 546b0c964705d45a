"""Console and nodes tell Prometheus the same, each with what it has to write it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.output import client_library, exposition
from plumbline.output.exposition import Family, Labels
from tests.package.output.test_exposition import HOSTILE

PROMTOOL = shutil.which("promtool")
SAMPLES: dict[Labels, float] = {
    (("component", "OST0"), ("layer", "ost"), ("file_system", "scratch")): 80.3e6,
    # neither has all the labels of the other
    (("component", "disk1"), ("file_system", "")): 1 / 3,
    **{(("component", name),): float(place) for place, name in enumerate(HOSTILE)},
    (("component", "\udcff"),): 1795241041.25,
}
FAMILIES = (
    Family("plumbline_rate_bytes_per_second", "Rate, of \\n and \n.", SAMPLES),
    Family("plumbline_judged_timestamp_seconds", "When.", {(): 1795241041.25}),
    Family("plumbline_coverage_ratio", "Nothing.", {}),
)


def read(text: str) -> list[tuple[str, str, str, dict[tuple[tuple[str, str], ...], float]]]:
    """Return what Prometheus's client reads: name, help, type, and values by their labels."""
    return [
        (
            family.name,
            family.documentation,
            family.type,
            {tuple(sorted(one.labels.items())): one.value for one in family.samples},
        )
        for family in text_string_to_metric_families(text)
    ]


def test_both_writers_say_the_same() -> None:
    by_library = read(client_library.exposition(FAMILIES))
    assert by_library == read(exposition.exposition(FAMILIES))
    assert [name for name, *_ in by_library] == [family.name for family in FAMILIES[:2]]
    assert len(by_library[0][-1]) == len(SAMPLES)


def test_it_is_the_library_that_writes() -> None:
    # as Go writes numbers, which the few lines of the nodes do not
    assert client_library.exposition(FAMILIES).endswith(" 1.79524104125e+09\n")


def test_what_is_no_number_is_not_written() -> None:
    wrong = [Family("rate", "b", {(("component", "x"),): float("nan")})]
    with pytest.raises(ValueError, match=r"rate of .*component.* is"):
        client_library.exposition(wrong)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_finds_nothing_wrong() -> None:
    assert PROMTOOL is not None
    text = client_library.exposition(FAMILIES)
    checked = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
