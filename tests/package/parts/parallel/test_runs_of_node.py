"""Sets of targets for files striped over several targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.measure.targets import osts_of
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.limits import Limits
from plumbline.model.ranks import TESTS
from plumbline.parts.parallel.job import Fixed
from plumbline.parts.parallel.launch import Launch
from plumbline.parts.parallel.runs import Members, Terms, entries_of, in_stripes
from plumbline.parts.parallel.sweep import Ledger
from plumbline.store.files import load_document
from tests.package.measure.units import expectation

TERMS = Terms(TESTS["mpiio-shared-1m1"], 4, 10**6, 60.0, Fixed.DATA, False, Launch())


def members(kind: str = "lustre") -> Members:
    entries = tuple(
        expectation(
            f"scratch-OST000{index}",
            target={"kind": kind, "mount": "/mnt/scratch"},
            path=("client1", f"oss{index % 2}", f"scratch-OST000{index}"),
        )
        for index in range(5)
    )
    return Members("client1", "scratch", entries, {}, Limits())


def test_unstriped_files_do_not_change_the_targets() -> None:
    assert in_stripes(members(), TERMS) == members()


def test_sets_follow_the_order_of_targets_and_incomplete_sets_are_excluded() -> None:
    sets = in_stripes(members(), TERMS._replace(stripes=2)).entries
    assert [entry.component for entry in sets] == ["scratch-OST0000+1", "scratch-OST0002+1"]
    assert osts_of(sets[1].target) == ("scratch-OST0002", "scratch-OST0003")
    assert sets[0].path == ("client1", "oss0", "scratch-OST0000", "oss1", "scratch-OST0001")
    assert sets[0].target["stripe_bytes"] == 4 << 20


def test_files_of_a_single_stripe_can_have_a_stripe_size() -> None:
    first = in_stripes(members(), TERMS, sized=True).entries[0]
    assert (first.component, first.target["kind"]) == ("scratch-OST0000", "lustre-striped")
    assert (osts_of(first.target), first.target["stripe_bytes"]) == (("scratch-OST0000",), 4 << 20)
    whole = entries_of(members(), TERMS._replace(more="stripes of 4 MiB"))[-1]
    assert whole.spec.pattern.endswith(", stripes of 4 MiB")


def test_the_specification_contains_the_number_of_targets_per_file() -> None:
    terms = TERMS._replace(stripes=5)
    whole = entries_of(in_stripes(members(), terms), terms)[-1]
    assert "4 ranks on 5 targets" in whole.spec.pattern
    assert whole.spec.pattern.endswith(", files over 5 targets")
    assert whole.spec.hash() != entries_of(members(), TERMS)[-1].spec.hash()


def test_only_lustre_targets_can_be_striped() -> None:
    with pytest.raises(UsageError, match="is a target of kind directory; files over"):
        in_stripes(members("directory"), TERMS._replace(stripes=2))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 1}'])
def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(text)
    with pytest.raises(DocumentError, match=r"sweep\.json.*--again"):
        load_document(Ledger, str(path))
