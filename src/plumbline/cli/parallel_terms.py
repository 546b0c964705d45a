"""What the options say of a parallel run: how much is moved, how, by which ranks."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from socket import gethostname
from typing import Optional

from plumbline.errors import UsageError
from plumbline.ranks.job import Fixed
from plumbline.ranks.layout import spread
from plumbline.ranks.tests import Aggregation, Method, named_test, share_of_memory
from plumbline.run.crew import Files
from plumbline.run.launch import Client, Launch, by_slurm, parse_clients
from plumbline.site.parallel import OPERATIONS, REREAD, Terms
from plumbline.units import parse_bytes, parse_duration


def terms_of(arguments: argparse.Namespace, targets: int) -> Terms:
    """Return the terms of ``plumbline probe fs`` on so many targets; raise UsageError."""
    test = test_of(arguments)
    if arguments.transfer:
        test = test._replace(transfer=_transfer(arguments.transfer))
    if arguments.ranks < 1:
        raise UsageError("--ranks is the number of ranks on each target; give 1 or more")
    launch = launch_of(arguments)
    ranks = arguments.ranks * targets
    stripes = _stripes(arguments.stripes, targets)
    terms = Terms(
        test,
        arguments.ranks * stripes,
        _rank_bytes(arguments, launch.hosts, ranks),
        parse_duration(arguments.seconds),
        Fixed.TIME if arguments.fixed_time else Fixed.DATA,
        arguments.direct,
        launch,
        operations=REREAD if arguments.reread_kept else OPERATIONS,
        stripes=stripes,
    )
    terms.refuse_contradictions()
    return terms


def _transfer(said: str) -> int:
    transfer = parse_bytes(said)
    if transfer < 1:
        raise UsageError(f"--transfer {said} moves nothing; give the bytes of one call")
    return transfer


def files_of(arguments: argparse.Namespace) -> Files:
    """Return what becomes of the files; raise UsageError where the options say two things."""
    if arguments.reread_kept and arguments.keep:
        raise UsageError("--reread-kept reads what --keep has left; give one of them")
    if arguments.keep and arguments.fixed_time:
        raise UsageError(
            "--fixed-time leaves files with holes, of which nothing can be learned later; leave "
            "out --keep"
        )
    if arguments.reread_kept:
        return Files.FOUND
    return Files.KEEP if arguments.keep else Files.FRESH


def _stripes(given: str, targets: int) -> int:
    """Return the targets of one file, which all targets must divide into."""
    stripes = targets if given == "all" else int(given) if given.isdecimal() else 0
    if not stripes or targets % stripes:
        raise UsageError(
            f"--stripes {given} does not divide {targets} targets into equal parts; give all, or a "
            "number that does"
        )
    return stripes


def test_of(arguments: argparse.Namespace) -> Method:
    """Return the test by its name, with the buffers of ``--gather``; raise UsageError."""
    test = named_test(arguments.test)
    if arguments.gather == "none":
        return test._replace(aggregation=None)
    if arguments.gather:
        number, _, size = arguments.gather.partition("x")
        size_bytes = parse_bytes(size) if size else 0
        if not number.isdigit() or not int(number) or size_bytes < 1:
            raise UsageError(f"--gather {arguments.gather!r} is not NxSIZE; write 2x32MiB or none")
        return test._replace(aggregation=Aggregation(int(number), size_bytes))
    return test


def launch_of(arguments: argparse.Namespace) -> Launch:
    """Return what starts the ranks; raise UsageError or DocumentError for impossible clients."""
    clients = _clients(arguments)
    given = _allocated() if not clients and by_slurm(arguments.launcher) else 1
    options = tuple(arguments.launcher_option or ())
    return Launch(arguments.launcher, clients, arguments.python or "", options, given)


def _allocated() -> int:
    """Return the hosts of Slurm's allocation, which makes runs comparable; raise UsageError."""
    number = os.environ.get("SLURM_JOB_NUM_NODES", "")
    if not number.isdecimal() or not int(number):
        raise UsageError(
            "--clients names the hosts that srun is to use; give it, or call from an allocation"
        )
    return int(number)


def _clients(arguments: argparse.Namespace) -> tuple[Client, ...]:
    if arguments.clients and arguments.hostfile:
        raise UsageError("--clients and --hostfile say the same; give one of them")
    if arguments.hostfile:
        try:
            return parse_clients(Path(arguments.hostfile).read_text(encoding="utf-8"), "\n")
        except OSError as error:
            raise UsageError(f"--hostfile {arguments.hostfile}: {error.strerror}") from error
    return parse_clients(arguments.clients or "")


def _rank_bytes(arguments: argparse.Namespace, clients: int, ranks: int) -> int:
    """Return the bytes of one rank: given, or 1.5 memories of a client, within the budget."""
    if arguments.bytes:
        return parse_bytes(arguments.bytes)
    each = max(spread(ranks, clients))
    return min(share_of_memory(memory_bytes(), each), parse_bytes(arguments.budget) // ranks)


def memory_bytes() -> int:
    """Return the memory of this host, which stands for that of a client."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def work_of(arguments: argparse.Namespace, launch: Launch) -> str:
    """Return the folder of the results; several clients must be told one that all of them see."""
    others = {client.name for client in launch.clients} - {"localhost", gethostname()}
    if not launch.clients and by_slurm(launch.launcher):
        others = {"the hosts of the allocation"}
    if others and not arguments.work:
        raise UsageError(
            f"--work names a folder that {', '.join(sorted(others))} see as well, for example on "
            "the file system that is measured; give it"
        )
    return os.path.abspath(arguments.work) if arguments.work else ""


def profile_of(arguments: argparse.Namespace) -> Optional[Path]:
    """Return the file that keeps every call, None for none.

    Raises:
        UsageError: it could not be written, which would be known only when all is measured.
    """
    if not arguments.profile:
        return None
    path = Path(arguments.profile).absolute()
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(
            f"--profile {arguments.profile} cannot be written; name a file in a folder that is "
            "there and yours"
        )
    return path
