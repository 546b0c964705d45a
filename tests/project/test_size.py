"""Files stay short enough to read in one go."""

from __future__ import annotations

import pytest

from tests.project.repository import ROOT, tracked


@pytest.mark.parametrize(
    ("patterns", "lines"),
    [(("src/*.py", "plugins/*.py", "roles/*/files/*.py"), 600), (("checks/check_*",), 40)],
    ids=["modules", "checks"],
)
def test_no_file_is_too_long(patterns: tuple[str, ...], lines: int) -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked(*patterns)
    }
    assert lengths
    assert {name: length for name, length in lengths.items() if length > lines} == {}
