"""Read Darshan logs by PyDarshan: run as a program of its own, for the paths that it is given.

What reads a log is a library in C, which a damaged log may end; so it is not read in the process
that asks.  For each log a line of JSON is printed, with what was read or why nothing was.  It needs
PyDarshan and nothing of plumbline, so it may run under a Python that has the one alone.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import PurePosixPath
from typing import Any, Iterator, Optional

MODULES = ("POSIX", "STDIO")
_SMALL = ("0_100", "100_1K", "1K_10K", "10K_100K")
"""The classes of POSIX calls below 100 KiB."""

_MOST_BYTES = 4 << 30
"""Of memory: the library believes the sizes that a damaged log names."""

_SIDES = (("read", "READ", "READS"), ("write", "WRITTEN", "WRITES"))


def main(paths: list[str]) -> None:
    """Print a line for each log."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    # each thread of what NumPy brings along would take its part of that
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import darshan.backend.cffi_backend as backend

    answers = os.dup(1)
    with tempfile.TemporaryFile() as complaints, os.fdopen(answers, "w", encoding="utf-8") as out:
        # the library says on standard error what it does not say by how it ends
        os.dup2(complaints.fileno(), 1)
        os.dup2(complaints.fileno(), 2)
        for path in paths:
            answer = _answer(backend, path)
            sys.stderr.flush()
            complaint = _complaint(complaints)
            if complaint:
                answer = {"error": complaint}
            print(json.dumps(answer), file=out, flush=True)


def _complaint(complaints: Any) -> str:
    complaints.seek(0)
    text: str = complaints.read(4096).decode("utf-8", "replace")
    complaints.seek(0)
    complaints.truncate()
    return text.strip().partition("\n")[0] if text.startswith("Error") else ""


def _answer(backend: Any, path: str) -> dict[str, Any]:
    log = backend.log_open(path)
    if log["handle"] == backend.ffi.NULL:
        return {"error": "it is no Darshan log"}
    try:
        return _log(backend, log)
    except Exception as error:  # noqa: BLE001 - whatever the library raises is of this one log
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        backend.log_close(log)


def _log(backend: Any, log: Any) -> dict[str, Any]:
    job = backend.log_get_job(log)
    begin = job["start_time_sec"] + job.get("start_time_nsec", 0) / 1e9
    end = job["end_time_sec"] + job.get("end_time_nsec", 0) / 1e9
    program = PurePosixPath((backend.log_get_exe(log).split() or [""])[0]).name
    layouts = {record["id"]: list(_layout(record)) for record in _records(backend, log, "LUSTRE")}
    names = backend.log_get_name_records(log)
    mounts = sorted(
        (path for path, kind in backend.log_get_mounts(log) if kind == "lustre"),
        key=len,
        reverse=True,
    )
    files = []
    for module in MODULES:
        for record in _records(backend, log, module):
            mount = _mount(names.get(record["id"], ""), mounts)
            if record["id"] in layouts and mount is not None:
                files.append(
                    {"mount": mount, "layout": layouts[record["id"]], **_io(module, record)}
                )
    return {
        "job": str(job["jobid"]),
        "program": program,
        "begin": begin,
        "end": max(end, begin + job["run_time"]),
        "processes": job["nprocs"],
        "files": files,
    }


def _records(backend: Any, log: Any, module: str) -> Iterator[Any]:
    while True:
        record = backend.log_get_record(log, module, "dict")
        if record is None:
            return
        yield record


def _layout(record: Any) -> Iterator[dict[str, Any]]:
    for component in record["components"]:
        counters = component["counters"]
        yield {
            "osts": [int(ost) for ost in component["ost_ids"]],
            "stripe": int(counters["LUSTRE_COMP_STRIPE_SIZE"]),
            "begin": int(counters["LUSTRE_COMP_EXT_START"]),
            "end": int(counters["LUSTRE_COMP_EXT_END"]),
        }


def _mount(path: str, mounts: list[str]) -> Optional[str]:
    return next((mount for mount in mounts if path.startswith(f"{mount.rstrip('/')}/")), None)


def _io(module: str, record: Any) -> dict[str, Any]:
    whole = {name: int(value) for name, value in record["counters"].items()}
    real = {name: float(value) for name, value in record["fcounters"].items()}
    figures: dict[str, Any] = {"unaligned": whole.get(f"{module}_FILE_NOT_ALIGNED")}
    for side, moved, calls in _SIDES:
        word = calls[:-1]
        small = [whole.get(f"{module}_SIZE_{word}_{size}") for size in _SMALL]
        figures[side] = {
            "bytes": whole[f"{module}_BYTES_{moved}"],
            "last": whole[f"{module}_MAX_BYTE_{moved}"],
            "calls": whole[f"{module}_{calls}"],
            "small": None if None in small else sum(count for count in small if count),
            "seconds": real[f"{module}_F_{word}_TIME"],
            "begin": real[f"{module}_F_{word}_START_TIMESTAMP"],
            "end": real[f"{module}_F_{word}_END_TIMESTAMP"],
        }
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
