"""The options of ``plumbline probe fs``, apart from what they mean: every call declares them."""

from __future__ import annotations

import argparse

from plumbline.errors import UsageError
from plumbline.layers import WHOLE

_DEFAULTS = {
    "test": "ost",
    "ranks": 1,
    "seconds": "60s",
    "budget": "64GiB",
    "launcher": "mpirun",
    "stripes": "1",
}

_OTHERS = (
    *("clients", "hostfile", "fixed_time", "transfer", "gather", "direct", "profile", "work"),
    *("python", "launcher_option", "file_system", "keep", "reread_kept"),
)


def add_parallel(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    group = parser.add_argument_group("all targets at once (fs)")
    add_ranks(group)
    group.add_argument("--ranks", type=int, metavar="N", help="on each target, default 1")
    group.add_argument("--transfer", metavar="SIZE", help="of one call, instead of the test's")
    group.add_argument("--stripes", metavar="N", help="targets of one file, or all (Lustre)")
    group.add_argument("--keep", metavar="SIZE", help="leave the files, SIZE in all at most")
    group.add_argument("--reread-kept", action="store_true", help="read what --keep has left")
    group.add_argument("--profile", metavar="FILE", help="keep every call: docs/profiles.md")


def add_ranks(group: argparse._ActionsContainer) -> None:
    """Declare what every start of ranks takes."""
    group.add_argument("--test", metavar="NAME", help="ost (default), posix-fpp-10k, ...")
    group.add_argument("--clients", metavar="HOST,...", help="HOST or HOST:RANKS; default: here")
    group.add_argument("--hostfile", metavar="FILE", help="the same, one host a line")
    group.add_argument("--seconds", metavar="TIME", help="end of each operation, default 60s")
    group.add_argument(
        "--fixed-time", action="store_true", help="measure for --seconds, not a number of bytes"
    )
    group.add_argument("--budget", metavar="SIZE", help="never write more, default 64GiB")
    group.add_argument("--gather", metavar="NxSIZE", help="in N buffers in memory first; none")
    group.add_argument("--direct", action="store_true", help="bypass the page cache")
    group.add_argument("--launcher", metavar="PROGRAM", help="mpirun (default) or srun")
    group.add_argument("--launcher-option", action="append", metavar="WORD", help="given to it")
    group.add_argument("--python", metavar="PATH", help="the one that has mpi4py")
    group.add_argument("--work", metavar="DIR", help="folder that all clients see")
    group.add_argument("--file-system", metavar="NAME", help="which, if the node has several")


def refuse_parallel(arguments: argparse.Namespace) -> None:
    """Raise UsageError where an option belongs to ``fs`` alone; fill in the defaults of it."""
    for name in (*_DEFAULTS, *_OTHERS):
        given = getattr(arguments, name)
        if arguments.layer not in WHOLE and given not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} belongs to plumbline probe fs; leave it out")
    fill_in(arguments)


def fill_in(arguments: argparse.Namespace) -> None:
    """Give the options that were left out their defaults."""
    for name, value in _DEFAULTS.items():
        if getattr(arguments, name, None) is None:
            setattr(arguments, name, value)
