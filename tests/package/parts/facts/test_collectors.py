"""Symptoms of each collector from recorded output of kernels and tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.command import Completed
from plumbline.model.errors import ForbiddenTool, PrivilegeError, ToolError
from plumbline.model.symptom import Look
from plumbline.parts.facts import lustre, md
from plumbline.parts.facts.gather import COLLECTORS, DAILY
from plumbline.parts.facts.links import PORTS
from plumbline.parts.facts.node import EarlierLook, Node, Past
from tests.package.fakes import Answer, answer
from tests.package.parts.facts.symptoms_nodes import (
    CASES,
    NOW,
    answers_of,
    files_of,
    make_node,
    with_fabric,
    with_switches,
)
from tests.package.recorded import data
from tests.project.repository import ROOT

EVERY = {**COLLECTORS, **DAILY}
EARLIER = NOW - 50_000
ALL = [
    pytest.param(collector, case, id=f"{collector}: {case['case']}")
    for collector, cases in CASES.items()
    for case in cases
]


def node_of(folder: Path, case: dict[str, Any], past: bool = True) -> Node:
    node = make_node(
        folder,
        files_of(case),
        answers_of(case),
        case.get("links", {}),
        Past(None, EarlierLook(EARLIER, case.get("counted", {})), case.get("highest", {}))
        if past
        else Past(),
    )
    if "switches" in case:
        return with_switches(node, case["switches"])
    return with_fabric(node, case["fabric"]) if "fabric" in case else node


def shown(look: Look) -> list[list[Any]]:
    return [
        [symptom.component, symptom.kind, symptom.severity.name, symptom.direction.value]
        + [symptom.sentence, *([] if symptom.since is None else [symptom.since])]
        for symptom in look.symptoms
    ]


@pytest.mark.parametrize(("collector", "case"), ALL)
def test_a_collector_reports_symptoms(tmp_path: Path, collector: str, case: dict[str, Any]) -> None:
    node = node_of(tmp_path, case)
    if "unavailable" in case:
        with pytest.raises((ToolError, PrivilegeError), match=r"^.+$") as caught:
            EVERY[collector](node)
        assert case["unavailable"] in str(caught.value)
        assert isinstance(caught.value, PrivilegeError) is case.get("privilege", False)
        return
    look = EVERY[collector](node)
    assert (look.collector, look.examined) == (collector, case["examined"])
    assert (shown(look), list(look.notes)) == (case.get("symptoms", []), case.get("notes", []))


def test_a_user_who_may_not_start_lldpctl_is_told_the_groups(tmp_path: Path) -> None:
    def forbidden(argv: tuple[str, ...]) -> Completed:
        raise ForbiddenTool(f"this user (plumbline) may not execute /usr/sbin/{argv[0]}")

    node = with_switches(make_node(tmp_path, answers={"lldpctl": forbidden}), [["leaf1"]])
    with pytest.raises(PrivilegeError, match="may not start lldpctl: symptoms_groups of the role"):
        EVERY["lldp"](node)


@pytest.mark.parametrize("off", ["nobody", "oss1"], ids=["all hosts on", "own host off"])
def test_links_of_another_site_are_not_missed_when_they_go(tmp_path: Path, off: str) -> None:
    whole = data("fabric/healthy.links")
    lines = whole.splitlines(keepends=True)
    # leaf1 and leaf4 lose their links to spine2
    pairs = ("leaf1", "leaf4"), ("spine2",)
    cut = "".join(line for line in lines if not all(any(n in line for n in p) for p in pairs))
    ways = [("oss1-nic", "oss1", "ib", None), ("oss3-nic", "oss3", "ib", None)]

    def looked(text: str, past: Past) -> tuple[Look, Past]:
        folder = tmp_path / str(len(text))
        answers = {"iblinkinfo": text, "ibqueryerrors": data("fabric/healthy.errors")}
        files = {"/sys/class/infiniband/mlx5_0/node_type": "1: CA"}
        node = with_fabric(make_node(folder, files, answers, past=past), ways)
        return EVERY["fabric"](node), node.counters.after(EARLIER)

    _, past = looked(whole, Past())
    cut = "".join(line for line in cut.splitlines(keepends=True) if off not in line)
    gone = [symptom.sentence for symptom in looked(cut, past)[0].symptoms]
    assert gone
    assert all("leaf1" in sentence for sentence in gone)


def test_a_switch_that_was_silent_for_a_day_has_no_new_errors_when_it_speaks(
    tmp_path: Path,
) -> None:
    links, spoken = (
        data("fabric/degraded.links"),
        answer(data("fabric/degraded.errors"), exit_code=1),
    )
    complaint = "ibwarn: [815] query_cap_mask: classportinfo query failed on"
    silent = answer(
        data("fabric/healthy.errors"),
        "".join(f"{complaint} {name}, Lid 7 port 0\n" for name in ("leaf2", "leaf4", "spine2")),
    )
    past, kinds = Past(), set()
    for day, errors in enumerate([spoken, silent, spoken, spoken]):
        answers: dict[str, Answer] = {"iblinkinfo": links, "ibqueryerrors": errors}
        node = make_node(
            tmp_path / str(day), {"/sys/class/infiniband/mlx5_0/x": ""}, answers, past=past
        )
        kinds |= {symptom.kind for symptom in EVERY["fabric"](node).symptoms}
        past = node.counters.after(NOW + day * 86_400)
    assert kinds == {"slow_link"}


def test_a_link_whose_far_end_does_not_answer_is_not_gone(tmp_path: Path) -> None:
    text, past = data("fabric/healthy.links"), Past()
    far = '0x0000000000200001      4    2[  ] "spine1" (Could be 12X )'
    near = '0x0000000000200001 "                        spine1"      4    2[  ]'
    hung = text.replace(far, '    "Port not available"')
    hung = "".join(line for line in hung.splitlines(keepends=True) if not line.startswith(near))
    assert hung.count("\n") == text.count("\n") - 1
    cut = "".join(line for line in hung.splitlines(keepends=True) if "not available" not in line)
    for day, (shown_links, missed) in enumerate([(text, 0), (hung, 0), (hung, 0), (cut, 1)]):
        answers = {"iblinkinfo": shown_links, "ibqueryerrors": data("fabric/healthy.errors")}
        node = make_node(
            tmp_path / str(day), {"/sys/class/infiniband/mlx5_0/x": ""}, answers, past=past
        )
        look = EVERY["fabric"](node)
        assert len(look.symptoms) == missed
        past = node.counters.after(NOW + day * 86_400)


@pytest.mark.parametrize(
    ("collector", "case"),
    [case for case in ALL if case.values[0] in {ports.name for ports in PORTS}],
)
def test_ports_that_never_changed_are_no_symptom(
    tmp_path: Path, collector: str, case: dict[str, Any]
) -> None:
    if "unavailable" not in case:
        assert COLLECTORS[collector](node_of(tmp_path, case, past=False)).symptoms == ()


def test_md_symptoms_match_the_documentation(tmp_path: Path) -> None:
    mdstat = data("md/mdstat-rebuild.txt").replace("sdb[1](F) ", "").replace("md0", "md3")
    links = {"/dev/disk/by-id/oss1-disk2": "../../md3"}
    look = md.look(make_node(tmp_path, {"/proc/mdstat": mdstat}, links=links))
    page = (ROOT / "docs" / "symptoms.md").read_text(encoding="utf-8")
    rows = [row for row in shown(look) if row[0] == "oss1-disk2"]
    assert len(rows) == 2
    for _, _, severity, direction, sentence in rows:
        assert f"\n{severity:<8}  oss2-disk1  {direction:<9}  md        {sentence}\n" in page


def test_lustre_clients_that_disconnect_from_idle_targets_and_reconnect_are_no_symptom(
    tmp_path: Path,
) -> None:
    later = data("lustre/lctl_osc_import.txt")
    # the output of the same client after its first connection to each target
    earlier = re.sub(r"connects: \d+, replied: \d+", "connects: 1, replied: 1", later)
    earlier = re.sub(r"connection_attempts: \d+", "connection_attempts: 1", earlier)
    assert earlier != later
    first = make_node(tmp_path, answers={"lctl get_param": earlier})
    lustre.look(first)
    past = first.counters.after(EARLIER)
    again = make_node(tmp_path, answers={"lctl get_param": later}, past=past)
    assert lustre.look(again).symptoms == ()


def test_a_lustre_import_that_reconnects_at_the_moment_of_the_look_is_no_symptom(
    tmp_path: Path,
) -> None:
    full = data("lustre/lctl_osc_import.txt")
    trying = full.replace("state: FULL", "state: CONNECTING", 1)
    for answers, away in (([trying, full], 0), ([trying, trying], 1)):
        node = make_node(tmp_path, answers={"lctl get_param": [*map(answer, answers)]})
        assert len(lustre.look(node).symptoms) == away
