"""``plumbline locate``: which components explain what is slow, and what to measure next."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError, StoreError, UsageError
from plumbline.locate import RUNS
from plumbline.model.state import State

if TYPE_CHECKING:
    from plumbline.locate.cut_off import CutOff
    from plumbline.locate.next_probe import NextProbe
    from plumbline.locate.observation import Observation
    from plumbline.locate.suspects import Located
    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Memory
    from plumbline.store.plan import SitePlan
    from plumbline.symptoms.said import Said


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "locate", help="name the components that explain what is slow; ends with 1 if there are any"
    )
    parser.add_argument(
        "--plan", metavar="FILE", required=True, help="what plumbline plan --json printed"
    )
    parser.add_argument(
        "--history", metavar="FILE", required=True, help="the history of all its nodes"
    )
    add_runs(parser)
    parser.add_argument("--json", action="store_true", help="print the document for programs")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the evidence")
    parser.set_defaults(run=run)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare how many runs vote together, the same for all that name suspects."""
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        default=RUNS,
        help="judge the last N runs together, against their siblings, default %(default)s; "
        "1 while looking for a fault that is there now",
    )


def asked_runs(arguments: argparse.Namespace) -> int:
    """Return how many runs vote together; raise UsageError for what is no number of runs."""
    runs: int = arguments.runs
    if runs < 1:
        raise UsageError(f"--runs {runs} is no number of runs; give 1 or more")
    return runs


def run(arguments: argparse.Namespace) -> int:
    """Print the suspects and return 1 where something is slow, 3 where nothing could vote."""
    from plumbline.store.plan import load_plan

    runs = asked_runs(arguments)
    plan = load_plan(arguments.plan)
    found = locate_site(plan, Path(arguments.history), time.time(), runs)
    if arguments.json:
        from plumbline.locate.document import document

        made = document(found.located, plan.parts, found.probes)
        made["remarks"] += [f"Not measured: {one.text}." for one in found.cut_off.values()]
        made["remarks"] += left_out(found.said)
        print(json.dumps(made, indent=1, allow_nan=False))
    else:
        _print(found, plan, sentences(plan, found), arguments.verbose)
    return _code(found.located)


class SiteLocated(NamedTuple):
    """What explains what is slow at a site, what would divide each set, what the nodes say."""

    located: Located
    probes: Sequence[Optional[NextProbe]]
    said: Said
    cut_off: Mapping[str, CutOff]
    """The servers and nodes that keep targets from being measured, by their names."""


def locate_site(
    plan: SitePlan,
    history: Path,
    now: float,
    runs: int,
    earlier: Mapping[str, Memory] = MappingProxyType({}),
) -> SiteLocated:
    """Return what explains the slow measurements of a site, and what would divide each set.

    The last ``runs`` runs of a measurement vote together; symptoms order what is equally likely.
    ``earlier`` is what nodes had measured before those runs, which does not vote.

    Raises:
        DocumentError: the plan is of an older version, or damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    from plumbline.locate.leaning import ordered
    from plumbline.locate.suspects import locate
    from plumbline.site.garbage import without_collector
    from plumbline.store.symptoms import collected_symptoms

    if not plan.parts:
        raise DocumentError(
            f"plan {plan.path} does not say what the parts are; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    nodes = measured_by_nodes(plan)
    with without_collector():
        observations, missed = _observations(_Site(nodes, history, runs, earlier), now)
        located = locate(observations)
        said = collected_symptoms(history, plan.nodes, now)
        located = ordered(located, said.symptoms)
        return SiteLocated(located, _probes(located, nodes), said, missed)


def left_out(said: Said) -> list[str]:
    """Return the remark on nodes whose symptoms were left out, nothing where there are none."""
    from plumbline.locate.words import listed

    if not said.left_out:
        return []
    return [f"Left out are the symptoms of {listed(said.left_out, ', of ')}."]


def sentences(plan: SitePlan, found: SiteLocated) -> list[str]:
    """Return a sentence for each ambiguity set, with the symptoms of its suspects."""
    from plumbline.locate.leaning import quoted
    from plumbline.locate.words import sentence

    return [
        sentence(found.located, one, plan.parts, probe)
        + quoted(one, plan.parts, found.said.symptoms)
        for one, probe in zip(found.located.sets, found.probes)
    ]


def measured_by_nodes(plan: SitePlan) -> dict[str, tuple[Expectation, ...]]:
    """Return what each node measures, layer by layer."""
    return {name: node.every() for name, node in plan.nodes.items()}


class _Site(NamedTuple):
    """What the nodes measure, where it is recorded, how many runs vote, and what was before."""

    nodes: dict[str, tuple[Expectation, ...]]
    history: Path
    runs: int
    earlier: Mapping[str, Memory]


def _observations(of: _Site, now: float) -> tuple[list[Observation], dict[str, CutOff]]:
    """Return what the nodes observe, and which hosts keep targets from being measured."""
    from plumbline.locate.company import Company
    from plumbline.locate.cut_off import cut_off
    from plumbline.locate.earlier import WithEarlier
    from plumbline.locate.measurables import Site
    from plumbline.locate.observe import observe, together
    from plumbline.store.history import History
    from plumbline.store.recent import Recent, groups_of

    if not of.history.exists():
        raise StoreError(
            f"there is no history {of.history}; name with --history the one that holds the records "
            "of all nodes"
        )
    site = Site(of.nodes)
    found: list[Observation] = []
    company = Company(of.nodes)
    memories: dict[str, Memory] = {}
    with History(of.history) as opened:
        for node, measured in of.nodes.items():
            memories[node] = Recent(opened, groups_of(measured))
            if of.runs > 1:
                company.add(together(site.of(node), memories[node]))
        for node, memory in memories.items():
            whole = WithEarlier(memory, of.earlier[node]) if node in of.earlier else memory
            found += observe(site.of(node), whole, now, of.runs, company)
        every = [(node, of.nodes[node], memory) for node, memory in memories.items()]
        return found, {one.host: one for one in cut_off(every, now)}


def _probes(
    located: Located, nodes: dict[str, tuple[Expectation, ...]]
) -> list[Optional[NextProbe]]:
    """Return for each ambiguity set what would divide it, None where nothing would."""
    from plumbline.locate.candidates import Candidates
    from plumbline.locate.next_probe import next_probe

    if all(one.certain for one in located.sets):
        return [None for _ in located.sets]
    candidates = Candidates(nodes)
    probes: list[Optional[NextProbe]] = []
    for one in located.sets:
        slow = [located.observations[index].of.component for index in one.explains]
        names = [suspect.name for suspect in one.suspects]
        found = None if one.certain else next_probe(located, one, candidates.crossing(names, slow))
        probes.append(found)
    return probes


def _print(found: SiteLocated, plan: SitePlan, said: Sequence[str], verbose: bool) -> None:
    from plumbline.locate.words import HEADERS, remarks, rows, summary
    from plumbline.output.table import render

    located = found.located
    for one, text in zip(located.sets, said):
        print(text)
        if verbose:
            print(f"\n{render(HEADERS, list(rows(located, one)))}\n")
    missed = [f"Not measured: {one.text}." for one in found.cut_off.values()]
    for remark in [*missed, *remarks(located, plan.parts), *left_out(found.said)]:
        print(remark)
    print(summary(located))


def _code(located: Located) -> int:
    from plumbline.locate.observation import Vote

    if located.sets or located.unexplained:
        return State.WARNING
    voted = any(one.vote is not Vote.NONE for one in located.observations)
    return State.OK if voted else State.UNKNOWN
