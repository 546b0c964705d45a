"""Contents of a node's bill: lasting names, no secrets, bounded size."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.ledger import DEFAULT_PARAMETERS, Condition, is_secret
from plumbline.parts.facts.changes import grouped
from plumbline.parts.facts.conditions import collect, merge_values, tidy
from tests.package.fakes import answer
from tests.package.model.ledgers import NOW, condition, ledger, look_at
from tests.package.parts.facts.nodes import DISK, FILE, FILES, system
from tests.package.recorded import data, reply, text


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: case["case"])
def test_a_bill_lists_the_software_and_settings_of_a_node(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    files = {path: text(raw) for path, raw in case.get("files", {}).items()}
    answers = {start: reply(raw) for start, raw in case.get("answers", {}).items()}
    node = system(tmp_path, files, answers, case.get("links", {}))
    for path in case.get("removed", ()):
        (tmp_path / path.lstrip("/")).unlink()
    parameters = case.get("parameters", ())
    taken, notes = collect(node, DEFAULT_PARAMETERS if parameters == "default" else parameters)
    of_area = [item for item in taken if item.area == case.get("area", item.area)]
    conditions = {f"{item.subject} {item.name}".strip(): item for item in of_area}
    assert len(conditions) == len(of_area)
    says = case.get("says", {})
    values = {name: item.value for name, item in conditions.items()}
    assert {name: values.get(name) for name in (values if case.get("all") else says)} == says
    among = case.get("among", {})
    assert {name: conditions[name].among for name in among} == among
    assert [word for word in case.get("never", ()) if word in repr((taken, notes))] == []
    # addresses of mounts change at every mount
    assert not [name for name in conditions if "-ffff" in name]
    assert list(notes) == case.get("notes", list(notes))
    assert case.get("note", "") in "".join(notes[:1])


def test_a_secret_is_recognised_by_its_name() -> None:
    assert all(map(is_secret, FILE["secret"]))
    assert not any(map(is_secret, FILE["open"]))


def test_a_disk_keeps_its_name_when_its_letter_changes(tmp_path: Path) -> None:
    before = collect(system(tmp_path / "a"), ())
    moved = {path: text for path, text in FILES.items() if "sda" in path}
    root = tmp_path / "b"
    after = system(
        root,
        {path.replace("sda", "sdq"): text for path, text in moved.items()},
        links={"/sys/block/sdq": f"../..{DISK}/block/sdq", f"{DISK}/block/sdq/device": "../.."},
    )
    (root / "sys/block/sda").unlink()
    assert collect(after, ()) == before


def lustre(root: Path, output: str, *patterns: str) -> list[Condition]:
    lctl = answer(output, "error: get_param: param_path 'mdt/*/x': No such file or directory", 2)
    taken, _ = collect(system(root, answers={"lctl get_param": lctl}), patterns)
    return [item for item in taken if item.area == "lustre"]


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (
            ("osp", "lod"),
            [
                "lod.qos_prio_free 90% -> 50% of lustre-MDT0000",
                "osp.max_rpcs_in_flight 8 -> 12 of lustre-OST0001-osc-MDT0000",
            ],
        ),
        # as in release 2.3, which has no other names
        (
            (),
            [
                "lov.qos_prio_free 90% -> 50% of lustre-MDT0000",
                "osc.max_rpcs_in_flight 8 -> 12 of lustre-OST0001-osc-MDT0000",
            ],
        ),
    ],
)
def test_a_change_of_a_parameter_with_two_names_on_an_mds_is_one_change(
    tmp_path: Path, modules: tuple[str, ...], expected: list[str]
) -> None:
    for module in modules:
        (tmp_path / f"sys/module/{module}/holders").mkdir(parents=True)
    own = "os[cp]|lo[dv]" if modules else "osc|lov"
    lines = data("lustre/drift_values.txt").splitlines(keepends=True)
    parameter = re.compile(rf"({own})\..*-MDT0000.*\.(max_rpcs_in_flight|qos_prio_free)=")
    before = "".join(line for line in lines if parameter.match(line))
    after = before.replace("90%", "50%")
    after = re.sub("(OST0001-osc-MDT0000.max_rpcs_in_flight)=8", r"\1=12", after)
    patterns = ("os[cp].*.max_rpcs_in_flight", "lo[dv].*.qos_prio_free")
    bills = [
        look_at("mds1", NOW + day, *lustre(tmp_path, output, *patterns))
        for day, output in enumerate((before, after))
    ]
    changes = ledger(*bills).changes
    groups = grouped(("mds1", change) for change in changes)
    assert sorted(group.text for group in groups) == expected


def test_a_long_value_is_shortened_and_a_change_at_its_end_shows() -> None:
    first, second = tidy("x" * 300), tidy("x" * 299 + "y")
    assert first != second
    assert max(len(first), len(second)) <= 160
    assert first.startswith("x" * 100)


def test_terminal_escapes_are_replaced() -> None:
    (merged,) = merge_values([condition("kernel", "5\x1b[31m\n6")])
    assert merged.value.isprintable()


def test_a_bill_is_bounded(tmp_path: Path) -> None:
    names = (f"osc.fs-OST{index:04x}-osc.max_dirty_mb={index}\n" for index in range(11_000))
    lctl = answer("".join(names))
    taken, notes = collect(system(tmp_path, answers={"lctl get_param": lctl}), ("osc.*.*",))
    assert len(taken) == 10_000
    assert "left out" in notes[-1]
