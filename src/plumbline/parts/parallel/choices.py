"""Choices of ``plumbline probe fs`` and ``sweep``: targets, ranks, launcher, files and folders.

They are read from the options and from what is deployed on this node; nothing is measured.
"""

from __future__ import annotations

import argparse
import os
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Optional, Sequence

from plumbline.cli.options import deployed, named_directories
from plumbline.measure.lock import Locks
from plumbline.model.errors import UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits
from plumbline.model.ranks import (
    Method,
    named_test,
    parse_aggregation,
    share_of_memory,
    spread,
)
from plumbline.observe.command import SystemClock
from plumbline.observe.given import read_given
from plumbline.parts.parallel import runs as fs
from plumbline.parts.parallel.job import Fixed
from plumbline.parts.parallel.launch import Client, Launch, by_slurm, parse_clients
from plumbline.parts.parallel.run import Files
from plumbline.site.comparison import memory_bytes, own_locks

_MAX_HOSTFILE = 16 << 20


def members_of(arguments: argparse.Namespace, least: int = 2) -> fs.Members:
    """Return the targets chosen by the options; at least ``least`` if they are directories.

    Raises:
        UsageError: there is no such target or file system, or a directory cannot be used.
        DocumentError: the expectations of this node are missing or damaged.
    """
    return _directories(arguments.directory, least) if arguments.directory else _targets(arguments)


def _directories(pairs: Sequence[tuple[str, str]], least: int) -> fs.Members:
    directories = named_directories(pairs, least)
    if fs.ALL in directories:
        raise UsageError(
            f"--directory {fs.ALL}: that is the name of all together; take another one"
        )
    entries = tuple(
        fs.member(name, fs.ALL, {"kind": "directory", "directory": path}, (gethostname(), name))
        for name, path in directories.items()
    )
    return fs.Members(gethostname(), fs.ALL, entries, {}, Limits(baselines=False))


def _targets(arguments: argparse.Namespace) -> fs.Members:
    """Return the targets of one file system that this node drives, or else measures singly."""
    expectations = deployed(arguments)
    drives = any(LAYERS[entry["layer"]].by_ranks for entry in expectations.entries)
    targets = [
        expectation
        for expectation in expectations.find(FS.name if drives else OST.name)
        if not expectation.parallel
    ]
    names = list(dict.fromkeys(entry.group for entry in targets))
    name = arguments.file_system or names[0]
    if name not in names or (len(names) > 1 and not arguments.file_system):
        raise UsageError(
            f"this node has the file systems {', '.join(names)}; choose one with --file-system"
        )
    chosen = [entry for entry in targets if entry.group == name]
    components = arguments.component or [entry.component for entry in chosen]
    for unknown in set(components) - {entry.component for entry in chosen}:
        raise UsageError(f"{name} has no target {unknown} on this node; see plumbline plan")
    selected = [entry for entry in chosen if entry.component in components]
    entries = tuple(
        fs.member(expectation.component, name, expectation.target, expectation.path)
        for expectation in selected
    )
    servers = {entry.component: entry.host for entry in selected}
    return fs.Members(expectations.node, name, entries, servers, selected[0].limits)


def locks_of(arguments: argparse.Namespace, members: fs.Members) -> Locks:
    """Return the locks of the targets; those of directories are in the user's folder, by path."""
    if not arguments.directory:
        return Locks(Path(arguments.locks), SystemClock())
    places = {
        expectation.component: str(expectation.target["directory"])
        for expectation in members.entries
    }
    digest = sha256("\n".join(sorted(places.values())).encode()).hexdigest()[:12]
    return own_locks({**places, members.name: digest})


def terms_of(arguments: argparse.Namespace, targets: int) -> fs.Terms:
    """Return the terms of ``plumbline probe fs`` on ``targets`` targets; raise UsageError."""
    test = test_of(arguments)
    if arguments.transfer:
        test = test._replace(transfer=arguments.transfer)
    launch = launch_of(arguments)
    ranks = arguments.ranks * targets
    stripes = _stripes(arguments.stripes, targets)
    terms = fs.Terms(
        test,
        ranks,
        _rank_bytes(arguments, launch.hosts, ranks),
        arguments.seconds,
        Fixed.TIME if arguments.fixed_time else Fixed.DATA,
        arguments.direct,
        launch,
        operations=fs.REREAD if arguments.reread_kept else fs.PARALLEL_OPERATIONS,
        stripes=stripes,
    )
    terms.refuse_contradictions()
    return terms


def files_of(arguments: argparse.Namespace) -> Files:
    """Return the use of files before and after the run; raise UsageError for contradictions."""
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


def _stripes(text: str, targets: int) -> int:
    """Return the number of targets per file, a divisor of the number of all targets."""
    stripes = targets if text == "all" else int(text) if text.isdecimal() else 0
    if not stripes or targets % stripes:
        raise UsageError(
            f"--stripes {text} does not divide {targets} targets into equal parts; give all, or a "
            "number that does"
        )
    return stripes


def test_of(arguments: argparse.Namespace) -> Method:
    """Return the named test with the buffers of ``--gather``; raise UsageError."""
    test = named_test(arguments.test)
    if not arguments.gather:
        return test
    return test._replace(aggregation=parse_aggregation(arguments.gather))


def launch_of(arguments: argparse.Namespace) -> Launch:
    """Return the launch of the ranks; raise UsageError or DocumentError for impossible clients."""
    clients = _clients(arguments)
    hosts = _allocated() if not clients and by_slurm(arguments.launcher) else 1
    options = tuple(arguments.launcher_option or ())
    return Launch(arguments.launcher, clients, arguments.python or "", options, hosts)


def _allocated() -> int:
    """Return the number of hosts of Slurm's allocation, to compare runs; raise UsageError."""
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
            text = read_given(arguments.hostfile, _MAX_HOSTFILE).decode("utf-8", "replace")
            return parse_clients(text, "\n")
        except OSError as error:
            raise UsageError(
                f"--hostfile {arguments.hostfile}: {error.strerror}; name a file of hosts"
            ) from error
    return parse_clients(arguments.clients or "")


def _rank_bytes(arguments: argparse.Namespace, clients: int, ranks: int) -> int:
    """Return the bytes of one rank: given, or 1.5 times a client's memory, within the budget."""
    most = max(spread(ranks, clients))
    share = min(share_of_memory(memory_bytes(), most), arguments.budget // ranks)
    return int(arguments.bytes or share)


def work_of(arguments: argparse.Namespace, launch: Launch) -> str:
    """Return the folder of the results; several clients need a folder that all of them see."""
    remote = {client.name for client in launch.clients} - {"localhost", gethostname()}
    if not launch.clients and by_slurm(launch.launcher):
        remote = {"the hosts of the allocation"}
    if remote and not arguments.work:
        raise UsageError(
            f"--work names a folder that {', '.join(sorted(remote))} see as well, for example on "
            "the file system that is measured; give it"
        )
    return os.path.abspath(arguments.work) if arguments.work else ""


def profile_of(arguments: argparse.Namespace) -> Optional[Path]:
    """Return the file that records every call, None if not given.

    Raises:
        UsageError: the file cannot be written; otherwise this would fail only after the run.
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
