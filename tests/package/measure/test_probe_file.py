"""The probe file has a harmless name, and its space is counted on the safe side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.measure.targets.probe_file import ProbeFile
from plumbline.model.errors import SkipTarget
from plumbline.observe.mounts import Space
from tests.package.fakes import FakeRunner, answer


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_component_name_gives_a_safe_folder_of_its_own(name: str, other: str) -> None:
    def folder(component: str) -> str:
        encodable = component.encode("utf-8", "replace").decode()
        return ProbeFile("/mnt", encodable).folder.removeprefix("/mnt/.plumbline/")

    assert set(folder(name)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-%"
    )
    assert folder(name) not in ("", ".", "..")
    same = name.encode("utf-8", "replace") == other.encode("utf-8", "replace")
    assert (folder(name) == folder(other)) is same


@pytest.mark.parametrize(
    ("space", "more", "refused"),
    [
        (Space(890, 110), 0, False),
        (Space(910, 90), 0, True),
        (Space(890, 110), 10, False),
        (Space(890, 110), 11, True),
        (Space(0, 10), 11, True),
    ],
)
def test_no_target_is_filled_above_its_limit(space: Space, more: int, refused: bool) -> None:
    if refused:
        remedy = "free space there, or measure fewer bytes" if more else "free space there$"
        with pytest.raises(SkipTarget, match=f"the limit is 90%; {remedy}"):
            space.refuse_above(0.9, more, "a")
    else:
        space.refuse_above(0.9, more, "a")


def test_a_place_without_space_is_no_storage() -> None:
    with pytest.raises(SkipTarget, match="a has no space for files"):
        Space(0, 0).refuse_above(0.9, 1, "a")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (answer("what\n"), "not understood"),
        (answer("", "stat: cannot statx '/m': Input/output error\n", 1), "Input/output error"),
        (answer("", "", 1), "without a word"),
    ],
)
def test_unknown_output_of_stat_is_reported(output: object, reason: str) -> None:
    with pytest.raises(SkipTarget, match=reason):
        ProbeFile("/m", "c").look(FakeRunner({"stat": output}))  # type: ignore[dict-item]


OVERLAY = "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n90 24 0:61 / /m rw - overlay overlay rw\n"
OVER_IT = "91 90 8:17 / /m/.plumbline/c/probe.dat rw - xfs /dev/sdb1 rw\n"


@pytest.mark.parametrize("mounts", [OVERLAY, OVERLAY + OVER_IT])
def test_a_file_with_another_device_number_is_refused_if_it_is_in_another_mount(
    mounts: str,
) -> None:
    file = ProbeFile("/m", "c")
    status = "4096 8 512 61 1 ..\n4096 8 512 2049 9 probe.dat\n"
    run = FakeRunner({"stat": status, "cat /proc/self": mounts})
    if OVER_IT in mounts:
        with pytest.raises(SkipTarget, match="lies on another file system than"):
            file.look(run)
    else:
        assert file.look(run) == (4096, 4096, 9)
