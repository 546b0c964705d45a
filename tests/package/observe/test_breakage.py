"""The words for I/O errors are the kernel's own."""

from __future__ import annotations

import errno
import os

import pytest

from plumbline.observe.query import breaks, is_dead, lacks_space

BROKEN = [
    *(errno.EIO, errno.ENXIO, errno.ENODEV, errno.EROFS, errno.ENODATA, errno.ENOLINK),
    *(errno.EBADMSG, errno.EILSEQ, errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT),
    *(errno.EHOSTDOWN, errno.ESTALE, errno.EUCLEAN, errno.EREMOTEIO, errno.ENOMEDIUM),
]
OTHERS = [errno.EACCES, errno.EPERM, errno.ENOENT, errno.EDQUOT, errno.ENOSPC, errno.EINVAL]


@pytest.mark.parametrize("number", BROKEN)
def test_an_io_error_is_known_by_its_number_and_by_its_words(number: int) -> None:
    assert breaks("", number)
    assert breaks(f"fio: io_u error on file x: {os.strerror(number)}: write offset=0")


@pytest.mark.parametrize("number", OTHERS)
def test_what_is_no_fault_of_storage_is_not_taken_for_one(number: int) -> None:
    assert not breaks("", number)
    assert not breaks(f"touch: cannot touch 'x': {os.strerror(number)}")


def test_sense_keys_are_known() -> None:
    assert breaks("sgp_dd: Medium error, Hardware error on device")
    assert not breaks("Some error occurred, remaining blocks=0")


def test_no_space_and_a_dead_mount_are_known_by_themselves() -> None:
    assert lacks_space("No space left on device")
    assert lacks_space("", errno.ENOSPC)
    assert is_dead("cat: /mnt/.meta/version: Transport endpoint is not connected")
