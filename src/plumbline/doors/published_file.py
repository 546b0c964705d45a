"""The published file of a verdict: whether it may be trusted, and what it says at a time.

A check starts every few minutes on each host, so a good file is read with the standard library
alone; :mod:`plumbline.doors.no_verdict` explains every other file.
"""

from __future__ import annotations

import os
import stat
from binascii import crc32

from plumbline.model.ages import OPEN, filled, seconds_since
from plumbline.model.verdict_files import MAX_BYTES, SCHEMA, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Shown = tuple[str, str, list[str], list[Any]]
    """State, sentence, evidence, and the cells of each figure."""


class _Json:
    """Settings of a JSON scanner: those of json.JSONDecoder."""

    strict, parse_float, parse_int, parse_constant = True, float, int, float
    object_hook = object_pairs_hook = None


SETTINGS: Any = _Json


def read(path: str, most: int = MAX_BYTES) -> bytes:
    """Return the content of a file that only its rightful writers can have written, else nothing.

    These are root, the caller, and the owner of the folder, who could replace the file anyway.  A
    file of more than ``most`` bytes gives nothing either.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb", 0) as file:
        status, folder = os.fstat(descriptor), os.stat(os.path.dirname(path) or ".")
        trusted = stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IWOTH
        trusted = trusted and status.st_uid in (0, os.geteuid(), folder.st_uid)
        return file.readall() if trusted and status.st_size <= most else b""


def published(path: str, subject: tuple[Any, ...], expectations: str = "") -> Any:
    """Return the published document on a subject; the layer alone may name the subject.

    Raises:
        Refusal: there is none, with the remedy.
    """
    try:
        # json itself loads re and enum, which take half as long as the start of Python
        from _json import make_scanner

        data = read(path)
        body = memoryview(data.rstrip(b"\r\n"))[19:]
        if data[:19] == b'{"crc32":"%08x"' % crc32(body):
            raw = make_scanner(SETTINGS)(data.decode(), 0)[0]
            same = (raw["layer"], raw["name"], raw["group"])[: len(subject)] == subject
            stamped = not expectations or raw["stamp"] == stamp(os.stat(expectations))
            if raw["schema"] == SCHEMA and same and stamped:
                return raw
    except (ImportError, AttributeError, TypeError):
        pass  # a Python whose json is made of something else
    except (OSError, KeyError, ValueError, StopIteration):
        pass  # explained below
    from plumbline.doors.no_verdict import explained

    return explained(path, subject, expectations)


def stage(part: Any, now: float) -> tuple[Shown, bool]:
    """Return a part of a document at a time, and whether one of its runs hangs."""
    current = [later for later in part["stages"] if later[0] <= max(0, now)][-1]
    _, state, _, sentence, lines, figures = current
    hanging = remark = ""
    for interrupted, process, hangs_at, state_then, text, if_interrupted in part["running"]:
        from plumbline.measure.process import is_alive  # hardly ever needed

        if interrupted or (process and not is_alive(process)):
            remark = remark or if_interrupted
        elif now > hangs_at and not hanging:
            state, hanging = state_then, filled(text, now)
    for figure in figures:
        if figure[2:3] == [OPEN]:
            figure[1:3] = seconds_since(figure[1], now)
    evidence = [filled(part["lines"][line], now) for line in lines]
    return (state, (hanging or filled(sentence, now)) + remark, evidence, figures), bool(hanging)
