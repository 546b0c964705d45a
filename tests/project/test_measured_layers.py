"""Facts about layers outside of the registry agree with the registry."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from plumbline.measure.probes import tools_of
from plumbline.measure.targets import KINDS
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.plan.baseline import read_baselines
from plumbline.plan.policy import EveryLayer
from tests.project.repository import ROOT, document, section, tracked

EACH = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


def text(path: str) -> str:
    """Return a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def rows(path: str, heading: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with a heading."""
    table = re.search(
        rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text(path), re.MULTILINE
    )
    assert table, f"{path} has no table {heading}"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]


# Stages of the package.


def test_the_policy_and_baselines_know_each_layer() -> None:
    assert list(EveryLayer.model_fields) == list(LAYERS)
    accepted: dict[str, dict[str, str]] = {name: {} for name in LAYERS}
    assert read_baselines({"schema": 1, "accepted": accepted}) == {}
    with pytest.raises(DocumentError):
        read_baselines({"schema": 1, "accepted": {**accepted, "other": {}}})


@EACH
def test_the_default_tool_of_a_layer_can_measure_it(layer: Layer) -> None:
    if layer.by_ranks:  # ranks are no tool
        assert tools_of(layer) == ()
    else:
        assert layer.spec.tool in tools_of(layer)


# Checks and units of nodes.


@EACH
def test_each_layer_has_a_check_that_judges_it(layer: Layer) -> None:
    check = text(f"checks/{layer.check}")
    assert f'main("{layer.name}")' in check
    assert f"| `{layer.check}` |" in section("Checks")
    assert f"`{layer.check}`" in text("docs/checks.md").splitlines()[2]


def test_checks_that_judge_a_layer_belong_to_a_known_layer() -> None:
    judging = {
        path.name
        for path in tracked("checks/check_*")
        if set(re.findall(r'main\("(\w+)"\)', path.read_text("utf-8"))) & LAYERS.keys()
    }
    assert judging == {layer.check for layer in LAYERS.values()}


def test_each_layer_names_the_module_that_measures_it() -> None:
    elsewhere = {name for name, layer in LAYERS.items() if layer.by_ranks or layer.joint}
    assert {name for name, layer in LAYERS.items() if not layer.measured_by} == elsewhere
    for layer in (LAYERS[name] for name in LAYERS.keys() - elsewhere):
        module = import_module(f"plumbline.measure.{layer.measured_by}")
        assert hasattr(module, "pair_unit" if layer.paired else "units")


def test_each_kind_of_target_is_found_by_its_name() -> None:
    assert [kind.name for kind in KINDS.values()] == list(KINDS)


@EACH
def test_each_layer_has_the_units_of_its_role(layer: Layer) -> None:
    role = f"roles/{layer.name}_probe"
    service = text(f"{role}/templates/{layer.service}.j2")
    assert re.search(rf"^ExecStart=.* probe {layer.name}\b", service, re.MULTILINE)
    role_variables = document(ROOT / role / "vars" / "main.yml")
    shared = "configure_layer" in text(f"{role}/tasks/configure.yml")
    placing = document(ROOT / "roles/timer_unit/vars/main.yml") if shared else role_variables
    placed = {
        unit["name"].replace("{{ timer_unit_layer }}", layer.name)
        for name, units in placing.items()
        if re.search(r"_(services|timers)$", name) and isinstance(units, list)
        if layer.confirmable or "_confirming_" not in name
        for unit in units
    }
    units = {layer.service, layer.timer}
    assert units <= placed <= set(role_variables[f"__{layer.name}_probe_units"])
    assert f"| `{layer.service}`, `.timer` | `plumbline probe {layer.name}`" in text(
        "docs/architecture.md"
    )


def test_each_role_that_measures_belongs_to_a_layer() -> None:
    roles = {path.parents[1].name for path in tracked("roles/*_probe/tasks/main.yml")}
    assert roles == {f"{name}_probe" for name in LAYERS}


# Guides and options.


def test_the_guide_to_probes_names_the_tools_of_each_layer() -> None:
    documented: dict[str, list[str]] = {}
    for probe, operations, layer, *_ in rows("docs/probes.md", "probe"):
        documented.setdefault(layer.strip("`"), []).append(probe.strip("`"))
        values = {operation.value for operation in LAYERS[layer.strip("`")].operations}
        assert values <= set(operations.split(", "))
    assert {name: tuple(tools) for name, tools in documented.items()} == {
        name: ("ranks of plumbline",) if layer.by_ranks else tools_of(layer)
        for name, layer in LAYERS.items()
    }


def test_the_guide_to_policies_has_the_defaults_of_each_layer() -> None:
    assert f"# one layer: {', '.join([*LAYERS][:-1])} or {[*LAYERS][-1]}\n" in text(
        "docs/policy.md"
    )
    shares = {name: f"`{100 * layer.min_efficiency:.0f} %`" for name, layer in LAYERS.items()}
    floors = {name: share for name, share, _ in rows("docs/policy.md", "layer")}
    assert floors == shares
    (line,) = (row for row in text("docs/policy.md").splitlines() if "| `min_efficiency` |" in row)
    assert ", ".join(f"{name} {share}" for name, share in shares.items()) in line


def test_the_guide_to_policies_has_the_tool_and_terms_of_each_layer() -> None:
    layers = [layer for layer in LAYERS.values() if not layer.by_ranks]
    heading = " | ".join(["key", *(layer.name for layer in layers)])
    terms = {row[0].strip("`"): row[1 : len(layers) + 1] for row in rows("docs/policy.md", heading)}
    assert terms["tool"] == [layer.spec.tool for layer in layers]
    for term in ("queue_depth", "repeats"):
        assert terms[term] == [str(getattr(layer.spec, term)) for layer in layers]


def test_plug_ins_offer_each_layer() -> None:
    offered = re.findall(r"^LAYERS = \((.*)\)$", text("plugins/module_utils/unit.py"), re.M)
    for path in ("plugins/modules/probe.py", "plugins/modules/verdicts_info.py"):
        offered += re.findall(r"^    choices: \[(ost.*)\]$", text(path), re.M)
    described = re.search(
        r"^  layer:\n.*?^    type", text("plugins/filter/selection.py"), re.M | re.S
    )
    assert described
    choices = re.findall(r"V\((\w+)\)", described[0])
    offered.append(" ".join(name for name in choices if name != "all"))
    assert len(offered) == 4
    assert all(set(re.findall(r"\w+", text)) == set(LAYERS) for text in offered)
    named = re.findall(r"^IF_NAMED = \((.*)\)$", text("plugins/module_utils/unit.py"), re.M)
    if_named = {name for name, layer in LAYERS.items() if layer.if_named}
    assert set(re.findall(r"\w+", named[0])) == if_named
