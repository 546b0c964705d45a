"""Verbs that people call, declared without loading the modules that carry them out.

Those that measure, judge and show come after those of ``planning``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from plumbline.cli import arguments as shared
from plumbline.cli.arguments import (
    COUNT,
    Argument,
    Container,
    Verbs,
    either,
    group,
    option,
    positional,
    within,
)
from plumbline.cli.planning import PLANNING
from plumbline.model import parts
from plumbline.model.layers import LAYERS
from plumbline.store.files import COMMANDS, HISTORY, PLAN

PEOPLE = Verbs(PLANNING)


def _axes(container: Container) -> None:
    """Declare an option for each axis of a sweep; its part is loaded only for this verb."""
    for axis in parts.load("parallel", "axes").AXES.values():
        if axis.help:
            default_text = f" (default: {axis.default})" if axis.default else ""
            option(f"{axis.option} LIST", axis.help + default_text)(container)


PEOPLE.add(
    "probe.probe",
    "measure now and judge",
    positional("layer", choices=LAYERS, metavar=f"{{{','.join(LAYERS)}}}", help="what to measure"),
    option("--component NAME", "only this component; repeatable", action="append"),
    option("--slot N", "pair hosts as in slot N (net)", type=int),
    option("--flows FILE", "records of all nodes' flows; - is stdin (shared)"),
    option("--confirm", "measure again what was low, with healthy peers (ost, raw)"),
    option("--limit TIME", "start nothing after this time, such as 1h"),
    *(shared.OWN_EXPECTATIONS, option("--dry-run", "print the commands, measure nothing")),
    option("--json", "print records and verdicts"),
    *(shared.RECORDS, shared.LOCK_FOLDER, shared.QUIET),
    option(
        "--directory NAME=PATH",
        "compare directories, without an inventory (ost, fs)",
        action="append",
    ),
    option("--mount DIR", "survey all targets of this mount, without an inventory (ost, mdt)"),
    option("--pool NAME", "with --mount: only the OSTs of this pool (Lustre)"),
    option(
        "--index LIST",
        "with --mount: only these, such as 0-9,2a, hexadecimal as in the names of OSTs and MDTs "
        "(decimal for bricks)",
    ),
    option("--matrix", "with --mount: create a file on each OST from each MDT (mdt)"),
    option("--bytes SIZE", "of each file in a directory or mount, 256MiB; of each rank (fs)"),
    option("--random-reads", "read the files of directories at random too, 4 KiB at a time (ost)"),
    option("--caches", "read a file with and without each cache (ost, one target)"),
    option("--another-client", "measure for the client of --expectations, into another --state"),
    group(
        "all targets at once (fs)",
        *shared.RANKS,
        option("--ranks N", "processes on each target (default: 1)", type=COUNT),
        option("--transfer SIZE", "size of one call (default: the test's)"),
        option("--gather NxSIZE", "aggregate small I/O in N buffers of SIZE (default: the test's)"),
        option("--stripes N", "targets per file, or all (Lustre; default: 1)"),
        option("--keep SIZE", "keep files up to SIZE (default: remove)"),
        option("--reread-kept", "read the files of an earlier --keep"),
        option("--profile FILE", "record every call in FILE (default: off)"),
        option("--next", "the next planned test of each file system"),
    ),
    description="""\
Measure what this node is to measure in a layer, keep the records, and judge them. With
--directory: compare directories, and keep nothing. With --mount: measure all targets of a mounted
Lustre or GlusterFS, or all MDTs of Lustre, and compare them with each other and the last time.""",
    epilog="""\
Exit codes: the worst verdict, 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; 75 when another run holds
one of the targets, 77 when this user may not measure one; see plumbline --help for the others.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

One target now: plumbline probe ost --component scratch-OST0003
Without inventory and root: plumbline probe ost --mount /scratch
                            plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b
All MDTs, as root:          plumbline probe mdt --mount /scratch

With --mount, DIR may be a folder of your own below the mount; the files in it are removed at the
end. Records are kept in ~/.local/state/plumbline. The call prints what needs root.
""",
)

PEOPLE.add(
    "parallel.sweeping.sweep",
    "measure all targets at once, with other writers, transfers, stripes each time",
    group(
        "what changes from point to point",
        _axes,
        option(
            "--scaling KIND",
            "1 to 16 writers: strong ones share the bytes of a point, weak ones have the same each",
            choices=("weak", "strong"),
        ),
        option("--repeats N", "runs of each point, for median and range", 1, type=COUNT),
        option("--alone", "one target or stripe set, others idle"),
    ),
    group(
        "what all points have in common",
        *shared.RANKS,
        option("--bytes SIZE", "bytes of a point, for all its writers"),
        option("--limit TIME", "limit of the sweep", "30min"),
    ),
    option("--component NAME", "only this target; repeatable", action="append"),
    option("--directory NAME=PATH", "a target, without an inventory", action="append"),
    shared.OWN_EXPECTATIONS,
    option("--state DIR", "folder of records and progress"),
    option("--again", "forget what is done, measure again"),
    option("--advice", "print how to write on this machine, by its last sweep; measure nothing"),
    option("--dry-run", "print points, bytes and seconds"),
    option("--json", "print points and knees"),
    *(shared.LOCK_FOLDER, shared.QUIET),
    description="""\
Drive all targets of a file system at once with more and more writers, other sizes of calls and
stripes, and show where more stops helping.""",
    epilog="""\
Lists are numbers or sizes with commas: --writers 1,2,4,8 --transfer 10000B,1MiB.  Every combination
is one point, the ends of all lists first.  The same call again goes on where the last one ended.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

Exit codes: 0 when every measured point has its figures, 3 when one has none; 75 when another run
holds one of the targets; see plumbline --help for the others.

Without inventory and root: plumbline sweep --directory a=/mnt/a --directory b=/mnt/b
""",
)

PEOPLE.add(
    "sample.sample",
    "sample the counters of this server, for the report's composite",
    option("--limit TIME", "duration, at most 60 min", "10 min"),
    option(
        "--device NAME=PATH",
        "watch this device instead of the planned ones",
        [],
        action="append",
    ),
    *(shared.DEPLOYED, shared.RECORDS),
    option("--json", "print the records, one a line"),
    description="""\
Record the counters of this server's block devices and Lustre targets once a second while a probe
runs elsewhere.""",
    epilog="""\
It reads counters and nothing else, stops at its limit, and keeps what it has when it is
ended earlier (SIGTERM or Ctrl-C).  The report draws it beside what the clients of a run saw.

For example: plumbline sample --limit 15m
""",
)

PEOPLE.add("baseline.baseline", "capture, compare and accept baselines")


def _baseline(
    action: str, summary: str, example: str, *own: Argument, description: str = ""
) -> None:
    PEOPLE.add(
        f"baseline.baseline {action}",
        summary,
        *(shared.INVENTORY, shared.JSON),
        *own,
        description=description or f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"For example: plumbline baseline {action} -i inventories/mysite{example}",
    )


_OF_RECORDS = "output of plumbline history --json; - is stdin"
_CANDIDATES = option(
    "--candidates FILE", "output of capture (default: in the inventory)", type=Path
)

_baseline(
    "capture",
    "make candidates of records",
    " --records history.jsonl",
    option("--records FILE", _OF_RECORDS, [], nargs="+", required=True),
    option("--last N", "number of newest runs", 12, type=COUNT),
    option("--output FILE", "candidates file (default: in the inventory)", type=Path),
)

_baseline(
    "diff",
    "set candidates beside accepted baselines",
    "",
    _CANDIDATES,
    option(
        "--sort",
        "outliers and biggest changes first, or by name",
        "change",
        choices=("change", "component"),
    ),
)

_baseline(
    "accept",
    "make candidates the reference",
    ' --reason "new disks in oss03"',
    _CANDIDATES,
    option("--reason TEXT", "reason for the new baselines", required=True),
    option("--by NAME", "person who accepts (default: login name)", ""),
    option("--component NAME", "only these, also outliers", [], nargs="+"),
    option("--below-floor", "accept rates below min_efficiency or goal of the policy too"),
    option("--dry-run", "show what would be accepted"),
)

_baseline(
    "age",
    "list the baselines that are to be renewed",
    "",
    option("--records FILE", _OF_RECORDS, [], nargs="+"),
    description="""\
List baselines that are older than max_age, taken under other conditions than the newest records,
or of nothing that is measured. Exit code 1: some are to be renewed.""",
)

PEOPLE.add(
    "verdicts.judge",
    "judge the records of this node; exit code is the worst state",
    option("--layer", "only this layer", choices=LAYERS),
    option("--component NAME", "only this component, without groups"),
    *shared.SOURCE,
    option(
        "--replay FILE.csv",
        "judge samples recorded elsewhere instead, each component and day; columns: host, "
        "day, ts, component, latency (microseconds) or rate, perhaps coverage and baseline",
    ),
    option(
        "--together TIME",
        "with --replay: length of a run, such as 10min (default: the same ts)",
    ),
    option("--explain NAME", "show how each rule judged this component, with its numbers"),
    option("--publish", "write the verdicts for the checks, and print how many have changed"),
    option("--json", "print one document per node"),
    *(shared.LAST_RUN, shared.VERBOSE),
    description="""\
Compare the latest measurements with ceiling, baseline and peers, and print a verdict with its
reason for each component. Nothing is measured.""",
    epilog="For example: plumbline judge --layer ost -v",
)

PEOPLE.add(
    "locate.verbs.locate",
    "find the components that explain slow measurements; exit code 1 if any",
    option("--history FILE", "history of all its nodes", required=True),
    *(shared.LAST_RUN, shared.SITE_PLAN, shared.JSON, shared.VERBOSE),
)

PEOPLE.add(
    "facts.verbs.latency.latency",
    "find devices and OSTs that are slow under user load; exit code 1 if any",
    option("--prometheus URL", "address of the site's Prometheus", required=True),
    *shared.AUTHORITY,
    option("--since TIME", "start of the comparison", "1d"),
    option("--window TIME", "length of a window, at least two scrapes", "15min"),
    option(
        "--save HISTORY",
        "keep suspicions beside this history, for nodes to confirm; exit code 0",
        type=Path,
    ),
    *(shared.SITE_PLAN, shared.JSON),
    description="""\
Compare the latency of each device and OST with that of its peers at equal throughput, under the
load of users, from Prometheus. Nothing is measured, and a suspicion notifies nobody.""",
    epilog="For example: plumbline latency --plan plan.json --prometheus http://console:9090",
)

PEOPLE.add(
    "facts.verbs.stages.stages",
    "show where the time of reads and writes goes; exit code 1 if a target stands out",
    positional(
        "files",
        metavar="FILE",
        nargs="*",
        help="times of clients and servers from the same time, by --times on each; none: watch "
        "this node",
    ),
    option(
        "--over TIME", "how long to watch, or to look back", "10s", type=within("TIME", "1s", "31d")
    ),
    option("--prometheus URL", "look back at all nodes in the site's Prometheus"),
    option("--during TIMES", 'look back at this time instead, such as "02:00 to 02:20"'),
    *shared.AUTHORITY,
    either(
        option("--times", "print the times of this node, as a FILE for another call"),
        option("--reading", "print the counters as they are now, for plumbline investigate"),
    ),
    shared.JSON,
    description="""\
Compare Lustre's counters at two times, and show how long the requests to each target took: on the
way between client and server, in the server's queue, in the server and in its disk. Nothing is
measured. Ended early by a signal, it shows the time until then.""",
    epilog="For example: plumbline stages --over 30s",
)

PEOPLE.add(
    "records.history",
    "show the records of this node",
    positional("component", nargs="?", help="only this component"),
    option("--layer", "only this layer", choices=(*LAYERS, "flows", "sweep", "server")),
    option("--since TIME", "only records since then, such as 30d (default: all)"),
    shared.RECORDS,
    option("--json", "print whole records, one per line"),
    description="Print what this node has measured, the oldest first.",
    epilog="For example: plumbline history scratch-OST0003 --since 30d",
)

PEOPLE.add(
    "console.collect",
    "collect the records of all nodes in one history",
    option("--node NAME", "only this node; repeatable", [], action="append"),
    option(
        "--remote WORDS",
        "command that runs plumbline export on {node}",
        "ssh -F /etc/plumbline-console/ssh_config -T {node} plumbline export",
    ),
    option(
        "--limit TIME",
        "time limit per node, such as 90s",
        "2 min",
        type=within("TIME", "0.1s", "1d"),
    ),
    option("--at-once N", "nodes at a time", 16, type=within(int, "1", "256")),
    *(shared.CONSOLE_PLAN, shared.CONSOLE_HISTORY, shared.QUIET, shared.JSON),
    description="""\
Bring the new records of all nodes of a plan to the history of this host. It can be interrupted at
any moment.""",
)

PEOPLE.add(
    "report.verbs.report",
    "draw a whole site as pages that open from disk",
    option("-o, --output DIR", "folder to write", "plumbline-report"),
    option("--days N", "period", 365, type=within(int, "1", "4000")),
    option(
        "--against DATE",
        "compare with the two weeks before this day (default: the last change or note)",
    ),
    option(
        "--at MOMENT",
        "add the hour around this moment, such as '2026-11-20 03:12', from --prometheus",
    ),
    option("--prometheus URL", "address of the site's Prometheus"),
    *shared.AUTHORITY,
    option("--profile FILE", "draw the calls that plumbline probe fs --profile kept"),
    option("--library FILE", "Plotly's plotly.min.js; default: that of the Python package"),
    *(shared.CONSOLE_PLAN, shared.CONSOLE_HISTORY, shared.JSON),
    description="""\
Draw a site from its plan and the history of all nodes. The page needs no network and no server.""",
)

PEOPLE.add(
    "report.verbs.compare",
    "set two periods or two runs of a site side by side",
    positional(
        "before",
        help="a day, days as 2026-11-20..2026-11-27, or the name of a run; several with commas",
    ),
    positional("after", help="the same, to be compared with the first"),
    *(shared.CONSOLE_PLAN, shared.CONSOLE_HISTORY, shared.JSON),
    description="""\
Compare the medians of every test before and after an upgrade, with their ceilings, the components
that changed otherwise than the others, and what happened in between. Days are UTC.""",
)

PEOPLE.add(
    "records.note",
    "record an event of the site, such as an upgrade",
    positional("text", nargs="?", help='for example "Lustre 2.15.8"'),
    option("--at DATE", "date, such as 2026-11-20 or 2026-11-20T14:00 (default: now)"),
    *(shared.CONSOLE_HISTORY, shared.JSON),
    description="""\
Keep a note with its date; plumbline report marks it. Without a text, show all notes.""",
)

PEOPLE.add(
    "verdicts.status",
    "show on one screen what is not OK; exit code is the worst state",
    *shared.SOURCE,
    option("--all", "show all components, not one screen"),
    shared.JSON,
    description="""\
Judge the latest measurements, and show the states of all layers and what is not OK with its
recent rates.""",
    epilog="For example: plumbline status --all",
)

PEOPLE.add(
    "facts.verbs.symptoms.symptoms",
    "find signs of faults in hardware and kernel",
    option(
        "--save",
        "keep this look in DIR, for the next one and for checks, and the conditions of the "
        "node, for plumbline changes",
    ),
    option("--commands FILE", "commands of the site's own that print symptoms", COMMANDS),
    *(shared.DEPLOYED, shared.RECORDS, shared.JSON),
    description="""\
Look at arrays, disks, enclosures, links, Lustre connections and kernel messages of this node.
Exit code 1: a symptom incriminates a component.""",
    epilog="For example: plumbline symptoms --save",
)

PEOPLE.add(
    "facts.verbs.symptoms.changes",
    "show changes of software, firmware and settings, and nodes that differ from peers",
    *shared.SITE,
    option("--since TIME", "only changes since then", "2w"),
    option("--differences", "with --plan: show nodes that differ from their peers instead"),
    *(shared.RECORDS, shared.JSON),
    description="""\
Show changes on this node, or with --plan and --history of a site: software, firmware, parameters
of Lustre and modules, mounts, kernel settings, disks and links.""",
    epilog="For example: plumbline changes --since 2w",
)

PEOPLE.add(
    "space.verbs.space",
    "show how full each target is, and when it is full",
    *shared.SITE,
    option("--mount DIR", "read this mount of Lustre, without an inventory and without a forecast"),
    option("--save", "keep this look in DIR, for forecasts, checks and the console"),
    *(shared.DEPLOYED, shared.RECORDS, shared.JSON),
    description="""\
Read fill and inodes of each target of the file systems that this node measures, or with --plan and
--history show the last look of each node of a site. Any user may read them. The exit code is the
worst state.""",
    epilog="For example: plumbline space --mount /scratch",
)

PEOPLE.add(
    "records.where",
    "show the targets that hold a file",
    positional("path", metavar="PATH", help="absolute path of a file"),
    *(shared.DEPLOYED, shared.JSON),
    description="""\
Print the targets that hold a file, from its layout, on a host that measures targets of its file
system. No data is read.""",
    epilog="For example: plumbline where /scratch/u/results.h5",
)

PEOPLE.add(
    "facts.verbs.jobs.jobs",
    "show the bytes that jobs moved on targets",
    option(
        "--during TIMES",
        'such as "02:00 to 03:00" or "2026-11-20T02:00 to 2026-11-21" (default: all)',
    ),
    option("--target NAME", "only this target", ""),
    option("--darshan PLACE", "Darshan logs, or folders of them", [], nargs="+"),
    option("--python PATH", "Python that has PyDarshan", sys.executable),
    option("--slurm FILE", "output of sacct or squeue --json, or sacct --parsable2; - is stdin"),
    option("--times FILE", "CSV of job times: job, start, end, name, user, nodes"),
    option("--slow-targets", "with --darshan: show targets that slow their jobs"),
    option("--keep", "keep the logs' figures in the history for 60 days"),
    option("--plan FILE", f"default {PLAN}, if it is there"),
    option("--history FILE", f"default {HISTORY}, if it is there"),
    shared.JSON,
    description="""\
Print which jobs used which targets, by the servers' job_stats and by Darshan logs; Slurm, or a
file of job times, gives their names. Exit code 65: something was left out.""",
    epilog='For example: plumbline jobs --during "02:00 to 03:00" --target scratch-OST0003',
)
