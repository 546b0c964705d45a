"""Each probe reads real output of its tool and reports output that it does not understand."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.measure.probes import TOOLS, probe_for
from plumbline.measure.probes.interface import parse_version, quoted
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.quantity import BYTES_PER_S
from tests.package.measure.jobs import BROKEN, GOOD, VERSIONS, Good, changed, completed, job
from tests.package.recorded import data, text


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case.file))
def test_a_good_output_is_read(case: Good) -> None:
    measurement = probe_for(case.tool).parse(case.job, case.ended(data(case.file)))
    assert measurement.rate / 1e6 == pytest.approx(case.MBps, rel=0.001)
    if measurement.bytes and case.job.operation.quantity == BYTES_PER_S:
        assert measurement.bytes / measurement.seconds == pytest.approx(measurement.rate, rel=0.01)
    assert tuple(flag.value for flag in measurement.flags) == tuple(case.flags)
    assert measurement.retransmits == case.retransmits
    assert case.seconds is None or len(measurement.profile) == case.seconds
    assert measurement.quantities == pytest.approx(case.quantities, rel=0.001)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case.file))
def test_the_quantities_of_a_tool_are_declared_by_the_operations_of_its_layers(case: Good) -> None:
    own = case.job.operation
    layers = [
        layer
        for layer in probe_for(case.tool).LAYERS
        # the sum of several reads at once has no times of calls
        if own in (*layer.operations, *layer.chosen) and not layer.joint
    ]
    assert layers
    for layer in layers:
        declared = [quantity.name for quantity in layer.quantities if quantity.of == own]
        assert set(case.quantities) <= set(declared)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_output_is_one_sentence(case: dict[str, Any]) -> None:
    streams = {name: text(case.get(name, "")) for name in ("stdout", "stderr")}
    done = completed(**streams, exit_code=case.get("exit_code", 0))
    with pytest.raises(ToolError) as caught:
        probe_for(case["tool"]).parse(changed(case["tool"], case), done)
    sentence = str(caught.value)
    assert [part for part in case["says"] if part not in sentence] == [], sentence
    assert type(caught.value).__name__ == case.get("kind", "ToolError")
    assert "\n" not in sentence


ENDED = [
    (
        Completed((), None, "", "", 65.0, timed_out=True, hung=True),
        "stuck in the kernel after 65 s",
    ),
    (Completed((), -15, "", "", 65.0, timed_out=True), "ran for more than 65 s"),
    (Completed((), -9, "", "", 1.0), "killed by signal 9"),
    (Completed((), 3, "", "", 1.0), "without a word"),
]


@pytest.mark.parametrize("tool", VERSIONS)
@pytest.mark.parametrize(("done", "reason"), ENDED)
def test_a_hung_or_killed_tool_is_reported(tool: str, done: Completed, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        probe_for(tool).parse(job(tool), done)


def test_even_a_complete_report_of_a_killed_tool_is_no_measurement() -> None:
    with pytest.raises(ToolError, match="killed by signal 9"):
        probe_for("fio").parse(job("fio"), completed(data("fio/read-3.39.json"), exit_code=-9))


@pytest.mark.parametrize("tool", VERSIONS)
def test_the_version_is_only_the_number(tool: str) -> None:
    recorded = VERSIONS[tool]
    printed = completed(recorded["prints"], exit_code=int(recorded.get("exit_code", 0)))
    assert parse_version(tool, printed) == recorded["version"]
    with pytest.raises(ToolError, match="no version"):
        parse_version(tool, completed("what?\n"))
    assert probe_for(tool).VERSION_COMMAND[0] == {"perftest": "ib_write_bw"}.get(tool, tool)


def test_an_unknown_tool_is_refused() -> None:
    with pytest.raises(DocumentError, match=rf"no probe 'dd'.*{', '.join(sorted(TOOLS))}"):
        probe_for("dd")


def test_quoted_output_is_cut_between_words() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    sentence = quoted(f"first\n{words}")
    assert sentence.startswith("first; word0 word1 ")
    assert len(sentence) <= 300
    assert sentence.endswith(" ...")
    assert sentence.removesuffix(" ...").rpartition(" ")[2] in words.split()
