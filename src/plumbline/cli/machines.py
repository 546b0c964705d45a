"""Verbs that roles, timers and playbooks call; listed in the epilog of the help."""

from __future__ import annotations

from plumbline.cli import arguments as shared
from plumbline.cli.arguments import Verbs, either, option, positional, within
from plumbline.model.layers import LAYERS
from plumbline.model.verdict_files import PATHS

MACHINES = Verbs()

MACHINES.add(
    "locate.verbs.investigate",
    "choose the next measurement; for debug_slow_storage.yml",
    shared.SITE_PLAN,
    option("--request FILE", "question and progress", required=True),
    option(
        "--records FILE",
        "output of plumbline history --json on the nodes",
        [],
        nargs="*",
    ),
    option(
        "--snapshots FILE",
        "earlier snapshots of the nodes, as references",
        [],
        nargs="*",
    ),
    option(
        "--readings FILE",
        "output of plumbline stages --reading on the nodes, before and after",
        [],
        nargs="*",
    ),
    description="""\
Read a question and the measurements since; print the next step, or the result, as JSON.""",
)

MACHINES.add(
    "through.through",
    "pairs of hosts at once through one part; for probe.yml",
    positional("part", metavar="PART", help="switch, line card, uplink or router of the topology"),
    shared.SITE_PLAN,
    option("--balanced", "only as many pairs as all parts carry at their full speed"),
    option(
        "--records FILE",
        "output of plumbline history --json on the nodes since the beginning",
        nargs="*",
    ),
    shared.JSON,
    description="""\
Print the slots of layer net in which most pairs cross a part; with records the sum of these pairs
in each slot and what the topology lets them carry together. Nothing is measured.""",
    epilog="For example: plumbline through leaf1 --plan plan.json",
)

MACHINES.add(
    "console.submit",
    "hand verdicts to Nagios through its command pipe",
    positional(
        "documents",
        nargs="*",
        metavar="FILE",
        help="printed by plumbline judge --json; - is stdin",
    ),
    option("--history FILE", "the history of all nodes of the plan"),
    either(
        option("--pipe PIPE", "command_file of Nagios", "/var/lib/nagios4/rw/nagios.cmd"),
        option("--batch FILE", "write the batch there, - is stdout, and hand over nothing"),
    ),
    option(
        "--spool DIR",
        "folder of the batch until Nagios has read it (default: the pipe's)",
    ),
    option(
        "--wait SECONDS",
        "time limit for Nagios to read its pipe",
        10.0,
        type=within(float, "0.1", "86400"),
    ),
    *(shared.SITE_PLAN, shared.JSON),
    description="""\
Judge a site by its plan and the history of its nodes, or take documents of plumbline judge
--json, and hand all verdicts to Nagios as passive results in one file.""",
)

MACHINES.add(
    "records.export",
    "send the records of this node to a console",
    shared.RECORDS,
    option("--wait TIME", "how long to wait for a request", "1min"),
    description="""\
Answer plumbline collect, one line of JSON each on standard input, with the new records of this
node.""",
)

MACHINES.add(
    "locate.verbs.publish",
    "find suspects and write the verdicts of check_path",
    *(shared.CONSOLE_PLAN, shared.CONSOLE_HISTORY),
    option("--to FILE", "file for check_path", PATHS),
    option(
        "--stale TIME",
        "how long the document is valid, such as 90m",
        "1 h",
        type=within("TIME", "1s"),
    ),
    option("--notified-after TIME", "delay of an alarm's notification", "30 min"),
    option("--json", "print the document as well"),
    description="Find suspects as plumbline locate does, and write them for check_path.",
)

MACHINES.add(
    "verdicts.metrics",
    "export verdicts and rates to Prometheus or Checkmk",
    shared.OUTPUT,
    option("--format", "form of the output", "prometheus", choices=("prometheus", "checkmk")),
    *shared.SOURCE,
    description="""\
Judge this node, or with --plan and --history a whole site, and write metrics for the textfile
collector of Prometheus's node exporter, or lines of a Checkmk local check.""",
)

MACHINES.add(
    "facts.verbs.counters.counters",
    "export Lustre's counters of this host to Prometheus",
    shared.OUTPUT,
    option(
        "--every TIME",
        "period of --output, or of the table without it (default: once)",
        type=within("TIME", "1s", "60min"),
    ),
    option("--lnet-health", "read LNet's health by lnetctl too; needs CAP_NET_ADMIN"),
    description="""\
Write Lustre's counters of this server, client or router as metrics for the textfile collector of
Prometheus's node exporter; with --every alone show rates live.""",
)

MACHINES.add(
    "facts.verbs.symptoms.fabric",
    "find slow, missing and faulty links of the InfiniBand fabric",
    option("--save", "keep this look in DIR, for the next one and for plumbline symptoms"),
    *(shared.DEPLOYED, shared.RECORDS, shared.JSON),
    description="""\
Ask all InfiniBand switches for their links and error counters, as root: no data moves.
Exit code 1: a symptom incriminates a component; 3: the fabric could not be looked at.""",
    epilog="For example: plumbline fabric",
)

MACHINES.add(
    "receive.receive",
    "wait for the partners of RDMA measurements",
    positional(
        "layer",
        choices=[layer.name for layer in LAYERS.values() if layer.by_verbs],
        help="layer of the partners",
    ),
    option("--limit TIME", "end after TIME", "3 min", type=within("TIME", "1s", "60min")),
    option("--dry-run", "print the commands and start none"),
    shared.DEPLOYED,
    description="""\
Keep a server of perftest waiting for each adapter of this host and each operation, until the
window of the slot closes. Each takes one client and is then started again.""",
)
