"""``plumbline probe``: measure this node's components, all targets of a mount, or directories.

The form of a measurement is a module of its own, loaded when it is called for.
"""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module

from plumbline.cli.measuring import refuse_parallel
from plumbline.cli.options import refuse_both, spelled
from plumbline.model import parts
from plumbline.model.errors import UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.store.files import LOCKS, STATE


def probe(arguments: argparse.Namespace) -> int:
    """Measure, print the result, and return the exit code."""
    layer = LAYERS[arguments.layer]
    if layer.by_ranks and not arguments.confirm and not arguments.caches:
        parallel = parts.load("parallel", "verbs")
        plan = parallel.planned(arguments)
        _refuse_contradictions(arguments)
        measure = parallel.probe_fs if plan is None else partial(parallel.probe_planned, plan)
    else:
        _refuse_contradictions(arguments)
        form = import_module(f"plumbline.cli.probe_{_form(arguments, layer)}")
        measure = form.probe
    code: int = measure(arguments)
    return code


def _form(arguments: argparse.Namespace, layer: Layer) -> str:
    """Return the form of measurement that the options ask for."""
    for name, form in (("caches", "caches"), ("directory", "directories"), ("mount", "mount")):
        if getattr(arguments, name):
            return form
    if layer.joint:
        return "shared"
    return "confirm" if arguments.confirm else "planned"


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together; fill in the defaults of ``fs``."""
    name, layer = arguments.layer, LAYERS[arguments.layer]
    if arguments.confirm and not layer.confirmable:
        confirmable = " or ".join(kind.name for kind in LAYERS.values() if kind.confirmable)
        raise UsageError(
            f"--confirm measures single targets and devices again; layer {name} has none: call "
            f"plumbline probe {confirmable}"
        )
    for chosen in ("component", "directory", "another_client", "json") if arguments.confirm else ():
        if getattr(arguments, chosen):
            raise UsageError(f"--confirm chooses what it measures; leave out {spelled(chosen)}")
    _refuse_of_other_layers(arguments, layer)
    _refuse_around_mount(arguments)
    _refuse_places(arguments, layer)
    refuse_parallel(arguments)
    refuse_both(arguments)
    if arguments.bytes and layer.of_metadata:
        raise UsageError(f"--bytes moves bytes, and layer {name} moves none: leave it out")
    if arguments.bytes and not (arguments.directory or arguments.mount or layer.by_ranks):
        raise UsageError(
            "--bytes belongs to --directory and --mount; otherwise the policy says how much"
        )


def _refuse_of_other_layers(arguments: argparse.Namespace, layer: Layer) -> None:
    """Raise UsageError for options that belong to another layer."""
    name = layer.name
    if arguments.slot is not None and not layer.paired:
        raise UsageError(f"--slot pairs hosts; layer {name} has none: leave it out")
    if arguments.directory and not layer.on_targets:
        raise UsageError("--directory compares storage targets: call plumbline probe ost or fs")
    if arguments.flows and (not layer.joint or len(arguments.component or ()) != 1):
        raise UsageError(
            "--flows has the flows of one shared part: call plumbline probe shared with one "
            "--component PART@SECONDS"
        )
    if arguments.random_reads and not (arguments.directory and layer.per_target):
        raise UsageError(
            "--random-reads reads files of directories: call plumbline probe ost --directory; the "
            "policy chooses file systems by random_reads, the topology devices by media"
        )
    if arguments.another_client and not (layer.per_target and arguments.expectations):
        raise UsageError(
            "--another-client measures the targets of another client: call plumbline probe ost "
            "with its --expectations"
        )


def _refuse_places(arguments: argparse.Namespace, layer: Layer) -> None:
    """Raise UsageError for folders of records and locks if the form has its own."""
    forms = [name for name in ("mount", "directory") if getattr(arguments, name)]
    if layer.by_ranks or not forms:
        return
    for name, usual in (("state", STATE), ("locks", LOCKS)):
        if getattr(arguments, name) != usual:
            raise UsageError(
                f"{spelled(forms[0])} has records and locks of its own; leave out {spelled(name)}"
            )


def _refuse_around_mount(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go with ``--mount``, or only with it."""
    if not arguments.mount:
        for name in ("pool", "index", "matrix"):
            if getattr(arguments, name):
                raise UsageError(f"{spelled(name)} needs the targets of a mount: give it --mount")
        return
    layer = LAYERS[arguments.layer]
    if not layer.per_target and not layer.of_metadata:
        raise UsageError(
            "--mount measures the targets of a file system: plumbline probe ost, or probe mdt"
        )
    if arguments.matrix and not layer.of_metadata:
        raise UsageError("--matrix creates files from each MDT: call plumbline probe mdt")
    if arguments.pool and layer.of_metadata and not arguments.matrix:
        raise UsageError(
            "--pool chooses OSTs, and metadata targets have no pools: leave it out, or add --matrix"
        )
    for name in ("directory", "component", "expectations", "confirm", "caches", "limit"):
        if getattr(arguments, name):
            raise UsageError(f"--mount chooses what it measures; leave out {spelled(name)}")
