"""The dashboard for Grafana shows every metric that is told, and none that is not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest

from plumbline.output.metrics import families
from tests.project.repository import ROOT

PROMTOOL = shutil.which("promtool")
DASHBOARD = json.loads((ROOT / "roles/metrics/files/grafana-dashboard.json").read_text())
METRICS = {family.name for family in families((), 0.0)}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LABELS = {"layer", "component", "file_system", "operation", "scenario", "group", "node", "version"}


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
