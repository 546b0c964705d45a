"""The Grafana dashboard shows all exported metrics and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.model.service import DEVICE_INFO
from tests.package.cli.test_metrics import (
    NAMES,
    measured,
    metrics_file,
    write_report,
    write_space,
)
from tests.package.prometheus import PROGRAM, PROMTOOL, Prometheus, holding
from tests.processes import run_to_end
from tests.project.repository import ROOT

DASHBOARD = json.loads((ROOT / "roles/metrics/files/grafana-dashboard.json").read_text())
METRICS = NAMES - {DEVICE_INFO}
"""Exported metrics except the one that joins foreign metrics to components."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LABELS = {"layer", "component", "file_system", "operation", "scenario", "group", "node", "version"}
LABELS |= {"kind", "severity", "target"}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def variables() -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}


def texts(value: object) -> Iterator[str]:
    """Yield all texts in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def test_the_dashboard_uses_exactly_the_exported_metrics() -> None:
    used = {name for text in texts(DASHBOARD) for name in re.findall(r"\bplumbline_\w+", text)}
    assert used == METRICS


def test_the_dashboard_uses_only_exported_labels() -> None:
    named = {name for text in expressions() for name in re.findall(r"(\w+)=~", text)}
    named |= {name for text in texts(DASHBOARD) for name in re.findall(r"{{(\w+)}}", text)}
    assert named <= LABELS


def test_the_viewer_chooses_the_data_source() -> None:
    assert variables()["datasource"]["type"] == "datasource"
    panels = DASHBOARD["panels"]
    queries = [variable for variable in variables().values() if variable["type"] == "query"]
    targets = [target for panel in panels for target in panel["targets"]]
    sources = [item["datasource"] for item in (*targets, *panels, *queries)]
    assert [source for source in sources if source != SOURCE] == []


def test_each_used_variable_is_defined() -> None:
    used = {name for text in texts(DASHBOARD) for name in re.findall(r"\$\{?([a-z]\w*)", text)}
    assert used == variables().keys()


def test_each_selector_filters_by_all_variables() -> None:
    # group metrics are filtered by layer only, component metrics by all three
    for selector in re.findall(r"{([^}]+)}", " ".join(expressions())):
        assert re.findall(r'(\w+)=~"\$\1"', selector) in (
            ["layer"],
            ["layer", "file_system", "component"],
        )


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(identities) == len(set(identities))


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_each_expression_is_valid_for_prometheus(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    queries = [text.replace("$__range", "7d").replace("$", "") for text in expressions()]
    rules = [{"record": f"rule{place}", "expr": text} for place, text in enumerate(queries)]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}))
    checked = run_to_end(PROMTOOL, "check", "rules", path)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def chosen(text: str, **values: str) -> str:
    """Return the expression of Grafana with everything chosen except for ``values``."""
    names = variables().keys() - {"datasource"}
    choices = {"__range": "1h", **dict.fromkeys(names, ".*"), **values}
    return re.sub(r"\$(\w+)", lambda name: choices[name[1]], text)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus that has read the metrics of a node."""
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    folder = tmp_path_factory.mktemp("prometheus")
    write_report(folder / "symptoms.json")
    write_space(folder / "space.json")
    text = metrics_file(folder, measured())
    with holding(folder, text) as running:
        (count,) = running.ask('count({__name__=~"plumbline_.+"})')
        families = text_string_to_metric_families(text)
        assert count.value == sum(len(family.samples) for family in families)
        yield running


@pytest.mark.long
def test_each_panel_shows_data(prometheus: Prometheus) -> None:
    assert [text for text in expressions() if not prometheus.ask(chosen(text))] == []


@pytest.mark.long
def test_each_variable_offers_the_exported_values(prometheus: Prometheus) -> None:
    offered = {}
    for name, variable in variables().items():
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable.get("definition", ""))
        if query is not None:
            assert query[2] == name
            answers = prometheus.ask(f"count by ({name}) ({chosen(query[1])})")
            offered[name] = {answer.labels[name] for answer in answers if name in answer.labels}
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
def test_panels_show_only_the_chosen_components(
    prometheus: Prometheus, values: dict[str, str], components: set[str]
) -> None:
    (state,) = (text for text in expressions() if text.endswith("} > 0"))
    answers = prometheus.ask(chosen(state.replace(" > 0", ""), **values))
    assert {answer.labels["component"] for answer in answers} == components


@pytest.mark.long
def test_the_documented_alarm_rules_fire(prometheus: Prometheus) -> None:
    text = (ROOT / "docs" / "other-consoles.md").read_text(encoding="utf-8")
    slow, unmeasured, silent = re.findall(r"^  expr: (.+)$", text, re.MULTILINE)
    assert [answer.labels["component"] for answer in prometheus.ask(slow)] == ["OST1"]
    assert [answer.labels["node"] for answer in prometheus.ask(unmeasured)] == ["client1"]
    assert prometheus.ask(silent) == []
    assert prometheus.ask(silent.replace("1800", "0")) != []
