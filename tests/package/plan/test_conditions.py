"""The policy's parameters of Lustre reach every node; what is none, or a secret, is refused."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.observe.conditions import DEFAULT
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.recorded import data
from tests.package.sites import site
from tests.project.repository import ROOT


def parameters(policy: object) -> set[tuple[str, ...]]:
    """Return what the nodes of a small site are told."""
    plan = json.loads(json.dumps(compile_plan(build(site()), load(policy), {}).to_json()))
    return {Expectations.from_json(node).parameters for node in plan["nodes"].values()}


def test_every_node_has_the_default_parameters() -> None:
    assert parameters({}) == {DEFAULT}


def test_those_of_the_policy_take_their_place() -> None:
    chosen = ["osc.*.max_dirty_mb", "llite.*.fast_read", "osc.*.max_dirty_mb"]
    assert parameters({"conditions": {"parameters": chosen}}) == {tuple(chosen[:2])}
    assert parameters({"conditions": {"parameters": []}}) == {()}


def test_the_parameters_of_the_documented_example_are_those_of_a_real_lustre() -> None:
    page = (ROOT / "docs/policy.md").read_text(encoding="utf-8")
    example = re.search(r"^    parameters: \[(.*)\]$", page, re.MULTILINE)
    assert example
    printed = data("lustre/drift_values.txt").splitlines()
    names = [line.partition("=")[0] for line in printed]
    patterns = example[1].replace('"', "").split(", ")
    absent = [one for one in patterns if not any(fnmatchcase(name, one) for name in names)]
    assert absent == []


def test_a_document_of_an_older_version_names_none() -> None:
    raw = compile_plan(build(site()), load({}), {}).node("oss1").to_json()
    del raw["parameters"]
    assert Expectations.from_json(raw).parameters == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--help", "is no parameter of Lustre"),
        ("", "is no parameter of Lustre"),
        ("osc.*.x; reboot", "is no parameter of Lustre"),
        ("../../etc/shadow", "is no parameter of Lustre"),
        ("osc.*." + "x" * 100, "is no parameter of Lustre"),
        ("sptlrpc.gss.shared_key", "may be a secret by its name"),
    ],
)
def test_what_is_no_parameter_is_refused(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        load({"conditions": {"parameters": [text]}})
