"""A document is believed when its rightful writer wrote all of it; else one sentence says why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.model.errors import DocumentError
from plumbline.store.files import seal
from plumbline.store.snapshot import load_expectations, load_snapshot
from tests.package.judgements import expectation, series, snapshot, write

NOBODY = 65534
TAKEN = snapshot(series())


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    write(tmp_path, [expectation()], TAKEN)
    return tmp_path / "expectations.json", tmp_path / "snapshot.json"


def test_both_documents_are_read_as_they_were_written(paths: tuple[Path, Path]) -> None:
    assert load_expectations(str(paths[0])).find("ost") == (expectation(),)
    assert load_snapshot(str(paths[1])).series == TAKEN.series


def rewrite(**changes: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def cut(path: Path) -> None:
    path.write_text(path.read_text()[:-200])


def link(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (Path.unlink, r"no such file; (run a probe|deploy the role agent)"),
    (lambda path: path.write_text(""), r"the file is empty; (run a probe|deploy the role agent)"),
    (cut, r"is damaged \(.*(run a probe|deploy the role agent)"),
    (lambda path: path.write_text("hello"), r"is damaged \(Expecting value.*(run|deploy)"),
    (lambda path: path.write_text("[" * 100_000), r"is damaged \(.*(run|deploy)"),
    (lambda path: path.write_bytes(b"\xff\xfe{}"), r"are not text \(invalid start byte\)"),
    (lambda path: path.write_text("[]"), r"is damaged \(no JSON object\); (run|deploy)"),
    (rewrite(schema=9), r"have schema 9|has schema 9"),
    (rewrite(surprise=float("nan")), r"is damaged \(NaN is no number\)"),
    (rewrite(surprise=float("inf")), r"is damaged \(Infinity is no number\)"),
    (link, r"a symbolic link is not followed; name the file itself"),
    (fifo, r"not a regular file; name the file itself"),
    (folder, r"not a regular file|Is a directory"),
    (lambda path: path.chmod(0o646), r"anybody may write it; run chmod o-w "),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_document_is_refused_with_the_remedy(
    paths: tuple[Path, Path], damage: Callable[[Path], object], message: str
) -> None:
    for path, load in zip(paths, (load_expectations, load_snapshot)):
        damage(path)
        with pytest.raises(DocumentError, match=message) as caught:
            load(str(path))
        assert "\n" not in str(caught.value)


NOTE = ["ost", "a", 1000.0]


@pytest.mark.parametrize(
    "damaged",
    [
        ["ost", 1, 1000.0],
        ["ost", "a", "1000"],
        [*NOTE, [1, 2, "boot"], False],
        [*NOTE, [-1, 2, "boot", "08:01:7"], False],
        [*NOTE, [1, 2.5, "boot", "08:01:7"], False],
        [*NOTE, [1, 2, None, "08:01:7"], False],
        [*NOTE, 7, False],
        [*NOTE, None, 1],
        [*NOTE, None, False, 0],
    ],
)
def test_a_damaged_note_of_a_run_is_refused(
    paths: tuple[Path, Path], damaged: list[object]
) -> None:
    rewrite(running=[damaged])(paths[1])
    with pytest.raises(DocumentError, match=r"the snapshot is damaged \(.*run the probe again"):
        load_snapshot(str(paths[1]))


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_without_end_is_refused_before_it_is_read(
    paths: tuple[Path, Path], number: int
) -> None:
    os.truncate(paths[number], 20 << 30)
    with pytest.raises(DocumentError, match=r"21\.5 GB are more than plumbline writes \(64 MiB at"):
        (load_expectations, load_snapshot)[number](str(paths[number]))


@pytest.mark.slow
def test_no_bit_of_a_sealed_snapshot_is_changed_unnoticed(paths: tuple[Path, Path]) -> None:
    sealed = seal(paths[1].read_text()).encode()
    paths[1].write_bytes(sealed)
    assert load_snapshot(str(paths[1])).series == TAKEN.series
    unnoticed = []
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1 << place % 7
        paths[1].write_bytes(bytes(changed))
        try:
            found = load_snapshot(str(paths[1]))
        except DocumentError:
            continue
        unnoticed.append(place)
        assert found.series == TAKEN.series
    # nothing but the name of the checksum itself
    assert set(unnoticed) <= set(range(2, 7))


def test_a_changed_figure_is_said_in_one_sentence(paths: tuple[Path, Path]) -> None:
    sealed = seal(paths[1].read_text())
    paths[1].write_text(sealed.replace("200000000", "210000000"))
    with pytest.raises(DocumentError, match=r"\.json is damaged \(its checksum .*; run a probe to"):
        load_snapshot(str(paths[1]))


def test_a_snapshot_of_an_older_version_has_no_checksum_and_is_read(
    paths: tuple[Path, Path],
) -> None:
    assert b"crc32" not in paths[1].read_bytes()
    assert load_snapshot(str(paths[1])).series == TAKEN.series


def test_a_sealed_snapshot_is_plain_json(paths: tuple[Path, Path]) -> None:
    text = paths[1].read_text()
    raw = json.loads(seal(text))
    assert len(raw.pop("crc32")) == 8
    assert raw == json.loads(text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_strangers_document_is_refused(paths: tuple[Path, Path]) -> None:
    os.chown(paths[1], NOBODY, NOBODY)
    with pytest.raises(DocumentError, match=r"belongs to user id 65534, neither root"):
        load_snapshot(str(paths[1]))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_of_the_folder_is_believed(paths: tuple[Path, Path]) -> None:
    # the user plumbline owns /var/lib/plumbline; the user of NRPE reads there
    os.chown(paths[1], NOBODY, NOBODY)
    os.chown(paths[1].parent, NOBODY, NOBODY)
    assert load_snapshot(str(paths[1])).host == "client1"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_sealed_snapshot_that_was_brought_as_text_is_the_same(
    paths: tuple[Path, Path], end: str
) -> None:
    """debug_slow_storage.yml brings those of the nodes with an end of line behind them."""
    plain = paths[1].read_text()
    expected = load_snapshot(str(paths[1]))
    for text in (plain, plain + end):
        paths[1].write_bytes((seal(text) + end).encode())
        assert load_snapshot(str(paths[1])) == expected
