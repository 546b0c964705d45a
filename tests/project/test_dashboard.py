"""The dashboard for Grafana shows every metric that is told, and none that is not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.model.service import DEVICE_INFO
from tests.package.cli.test_metrics import NAMES, measured, metrics_file, write_report
from tests.package.prometheus import PROGRAM, PROMTOOL, Prometheus, holding
from tests.project.repository import ROOT

DASHBOARD = json.loads((ROOT / "roles/metrics/files/grafana-dashboard.json").read_text())
METRICS = NAMES - {DEVICE_INFO}
"""What is told, but for what joins the metrics of others to components."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LABELS = {"layer", "component", "file_system", "operation", "scenario", "group", "node", "version"}
LABELS |= {"kind", "severity"}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def variables() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in DASHBOARD["templating"]["list"]}


def texts(value: object) -> Iterator[str]:
    """Yield every text in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def test_it_uses_each_metric_that_is_told_and_no_other() -> None:
    used = {name for text in texts(DASHBOARD) for name in re.findall(r"\bplumbline_\w+", text)}
    assert used == METRICS


def test_it_names_no_label_that_is_not_told() -> None:
    named = {name for text in expressions() for name in re.findall(r"(\w+)=~", text)}
    named |= {name for text in texts(DASHBOARD) for name in re.findall(r"{{(\w+)}}", text)}
    assert named <= LABELS


def test_the_source_of_its_data_is_chosen_by_who_looks() -> None:
    assert variables()["datasource"]["type"] == "datasource"
    sources = [one["datasource"] for panel in DASHBOARD["panels"] for one in panel["targets"]]
    sources += [panel["datasource"] for panel in DASHBOARD["panels"]]
    sources += [one["datasource"] for one in variables().values() if one["type"] == "query"]
    assert [one for one in sources if one != SOURCE] == []


def test_each_variable_that_it_uses_is_defined() -> None:
    used = {name for text in texts(DASHBOARD) for name in re.findall(r"\$\{?([a-z]\w*)", text)}
    assert used == variables().keys()


def test_each_choice_narrows_each_panel() -> None:
    # a group is of a layer, and a component of all three
    for selector in re.findall(r"{([^}]+)}", " ".join(expressions())):
        assert re.findall(r'(\w+)=~"\$\1"', selector) in (
            ["layer"],
            ["layer", "file_system", "component"],
        )


def test_no_panel_covers_another() -> None:
    covered = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < 24
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(identities) == len(set(identities))


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_understands_each_expression(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    asked = [text.replace("$__range", "7d").replace("$", "") for text in expressions()]
    rules = [{"record": f"rule{place}", "expr": text} for place, text in enumerate(asked)]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}))
    checked = subprocess.run(
        [PROMTOOL, "check", "rules", str(path)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def chosen(text: str, **values: str) -> str:
    """Return an expression as Grafana asks it, where all is chosen but what is said here."""
    names = variables().keys() - {"datasource"}
    known = {"__range": "1h", **dict.fromkeys(names, ".*"), **values}
    return re.sub(r"\$(\w+)", lambda found: known[found[1]], text)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus that has read what a node tells."""
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    folder = tmp_path_factory.mktemp("prometheus")
    write_report(folder / "symptoms.json")
    text = metrics_file(folder, measured())
    with holding(folder, text) as running:
        (held,) = running.ask('count({__name__=~"plumbline_.+"})')
        assert held.value == sum(len(one.samples) for one in text_string_to_metric_families(text))
        yield running


@pytest.mark.long
def test_each_panel_shows_something(prometheus: Prometheus) -> None:
    assert [text for text in expressions() if not prometheus.ask(chosen(text))] == []


@pytest.mark.long
def test_each_variable_offers_what_is_told(prometheus: Prometheus) -> None:
    offered = {}
    for name, one in variables().items():
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", one.get("definition", ""))
        if query is not None:
            assert query[2] == name
            found = prometheus.ask(f"count by ({name}) ({chosen(query[1])})")
            offered[name] = {answer.labels[name] for answer in found if name in answer.labels}
    assert offered == {
        "layer": {"ost", "raw", "net", "fs"},
        "file_system": {"scratch"},
        "component": {"OST0", "OST1", "OST2", "OST3", "disk1", "oss3", "scratch"},
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("values", "components"),
    [
        ({"layer": "raw"}, {"disk1"}),
        ({"file_system": "scratch"}, {"OST0", "OST1"}),
        ({"component": "OST1"}, {"OST1"}),
    ],
)
def test_what_is_chosen_is_all_that_is_shown(
    prometheus: Prometheus, values: dict[str, str], components: set[str]
) -> None:
    (state,) = (text for text in expressions() if text.endswith("} > 0"))
    found = prometheus.ask(chosen(state.replace(" > 0", ""), **values))
    assert {answer.labels["component"] for answer in found} == components


@pytest.mark.long
def test_the_alarms_that_the_documentation_gives_go_off(prometheus: Prometheus) -> None:
    text = (ROOT / "docs" / "other-consoles.md").read_text(encoding="utf-8")
    slow, unmeasured, silent = re.findall(r"^  expr: (.+)$", text, re.MULTILINE)
    assert [one.labels["component"] for one in prometheus.ask(slow)] == ["OST1"]
    assert [one.labels["node"] for one in prometheus.ask(unmeasured)] == ["client1"]
    assert prometheus.ask(silent) == []
    assert prometheus.ask(silent.replace("1800", "0")) != []
