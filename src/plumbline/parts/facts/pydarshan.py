"""Program that reads Darshan logs with PyDarshan and prints one JSON line per log.

A damaged log may crash PyDarshan's C library, hence the separate process.  A line has the content
of the log, or an error.  The program needs PyDarshan but nothing of plumbline, so it can run under
a Python that has only PyDarshan.
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
"""Size classes of POSIX calls below 100 KiB."""

_MAX_BYTES = 4 << 30
"""Limit of memory: the library trusts the sizes in a damaged log."""

_SIDES = (("read", "READ", "READS"), ("write", "WRITTEN", "WRITES"))


def main(paths: list[str]) -> None:
    """Print a line for each log."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    # each thread of NumPy's OpenBLAS would need part of that memory
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import darshan.backend.cffi_backend as backend

    answers = os.dup(1)
    with tempfile.TemporaryFile() as complaints, os.fdopen(answers, "w", encoding="utf-8") as out:
        # the library reports some errors only on standard error
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
    except Exception as error:  # noqa: BLE001 - any error of the library concerns only this log
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
    counters = {name: int(value) for name, value in record["counters"].items()}
    times = {name: float(value) for name, value in record["fcounters"].items()}
    figures: dict[str, Any] = {"unaligned": counters.get(f"{module}_FILE_NOT_ALIGNED")}
    for side, moved, calls in _SIDES:
        call = calls[:-1]
        small = [counters.get(f"{module}_SIZE_{call}_{size}") for size in _SMALL]
        figures[side] = {
            "bytes": counters[f"{module}_BYTES_{moved}"],
            "last": counters[f"{module}_MAX_BYTE_{moved}"],
            "calls": counters[f"{module}_{calls}"],
            "small": None if None in small else sum(count for count in small if count),
            "seconds": times[f"{module}_F_{call}_TIME"],
            "begin": times[f"{module}_F_{call}_START_TIMESTAMP"],
            "end": times[f"{module}_F_{call}_END_TIMESTAMP"],
        }
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
