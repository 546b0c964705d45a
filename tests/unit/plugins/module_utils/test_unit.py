"""Units of the timers are started and waited for, and their failures explained."""

from __future__ import annotations

from typing import Sequence

import pytest
from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import (
    Outcome,
    measure,
    unit_name,
)

UNIT = "plumbline-raw.service"


class Runner:
    """Gives canned answers to successive commands."""

    def __init__(self, *answers: tuple[int, str, str]) -> None:
        self.answers = list(answers)
        self.commands: list[str] = []

    def __call__(self, argv: Sequence[str]) -> tuple[int, str, str]:
        self.commands.append(" ".join(argv))
        return self.answers.pop(0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("ost",), "plumbline-ost.service"),
        (("ost", "scratch-OST0003"), "plumbline-ost@scratch-OST0003.service"),
        (("net", "", 0), "plumbline-net@0.service"),
    ],
)
def test_the_unit_is_the_timers_unit_or_an_instance_of_it(
    arguments: tuple[str, ...], name: str
) -> None:
    assert unit_name(*arguments) == name


def test_a_unit_that_finishes_has_no_trouble() -> None:
    run = Runner((0, "", ""))
    assert measure(run, UNIT) == Outcome(UNIT)
    assert run.commands == [f"systemctl start {UNIT}"]


def test_a_unit_that_takes_too_long_is_stopped() -> None:
    run = Runner((124, "", ""), (0, "", ""))
    assert measure(run, UNIT, 90) == Outcome(UNIT, "did not finish within 90 s", late=True)
    assert run.commands == [
        f"timeout 90 systemctl start {UNIT}",
        f"timeout 20 systemctl stop {UNIT}",
    ]


@pytest.mark.parametrize(
    ("journal", "systemctl", "trouble"),
    [
        ((0, "plumbline: no such disk\n", ""), "Job failed.\n", "failed: plumbline: no such disk"),
        ((0, "\n", ""), "Unit not found.\n", "failed: Unit not found."),
        ((1, "", "no journal"), "", f"failed: no reason in journalctl --unit {UNIT}"),
    ],
)
def test_the_reason_of_a_failed_unit_comes_from_its_journal_or_systemctl(
    journal: tuple[int, str, str], systemctl: str, trouble: str
) -> None:
    assert measure(Runner((1, "", systemctl), journal), UNIT) == Outcome(UNIT, trouble)
