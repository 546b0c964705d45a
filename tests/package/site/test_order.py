"""A run begins with the targets that the last one skipped."""

from __future__ import annotations

from pathlib import Path

from plumbline.measure.units import units_of
from plumbline.model.record import Outcome
from plumbline.site.measure import skipped_first
from plumbline.store.history import History
from tests.package.measure.units import expectation
from tests.package.records import record


def test_targets_that_a_limit_left_out_come_first_in_the_next_run(tmp_path: Path) -> None:
    target = {"kind": "lustre", "mount": "/mnt/lustre"}
    entries = [
        expectation(name, target={**target, "ost": name})
        for name in (f"lustre-OST000{number}" for number in range(4))
    ]
    units = units_of("ost", entries)
    with History(tmp_path / "history.sqlite") as history:

        def order() -> list[str]:
            return [unit.tasks[0].entry.component[-1] for unit in skipped_first(units, history)]

        assert order() == ["0", "1", "2", "3"]
        for number, entry in enumerate(entries):
            changes = {"outcome": Outcome.SKIPPED, "reason": "limit", "rate": None, "repeats": ()}
            history.save(
                record(id=f"{number}", component=entry.component, **(changes if number > 1 else {}))
            )
        assert order() == ["2", "3", "0", "1"]
        history.save(record(id="later", component=entries[2].component))
        assert order() == ["3", "0", "1", "2"]
