"""Verbs that people call before anything is measured: ceilings, plan and simulation of a site.

They are declared without loading the modules that carry them out.
"""

from __future__ import annotations

from plumbline.cli import arguments as shared
from plumbline.cli.arguments import COUNT, Verbs, either, option
from plumbline.model.layers import LAYERS

PLANNING = Verbs()

PLANNING.add("topology.topology", "check the description of a site")

PLANNING.add(
    "topology.topology check",
    "read all documents, follow every path, count",
    option("-i, --inventory DIR", "folder of the inventory"),
    option(
        "--live",
        "on a client: compare the OSTs of its mounts and their servers with the inventory, or "
        "without one with what is deployed here, or else list them; ends with 1 if they differ",
    ),
    option(
        "--measured HISTORY",
        "compare wiring and servers with a history; ends with 1 if they differ",
    ),
    shared.JSON,
    description="""\
Check topology, policy and baselines of an inventory, follow every path, and count the parts.
Nothing is measured.""",
    epilog="For example: plumbline topology check -i inventories/mysite",
)

PLANNING.add(
    "topology.topology draft",
    "write a first topology from the mounts of a client",
    option("--mount DIR", "only this mount (default: all of Lustre and GlusterFS)"),
    description="""\
Print a first topology.yml on a client: its file systems, their targets, and the server of each.
Add rates and the parts between by hand. Nothing is measured. Exit code 1: something was left
out.""",
    epilog="For example: plumbline topology draft > topology.yml",
)

PLANNING.add(
    "inventory.ceiling",
    "show the ceilings of the hardware",
    option("--layer", "only this layer; net with its pairs", choices=LAYERS),
    option(
        "--zone",
        "place on the disks, if the topology gives the rates of several",
        "fastest",
        choices=("fastest", "average", "slowest"),
    ),
    option(
        "--set PART=RATE",
        "suppose this rate of a part, or of each part of a range",
        [],
        action="append",
    ),
    *(shared.INVENTORY, shared.JSON),
    description="""\
Print the ceiling of each measurement by the topology, the parts that set it, and the next
limit.""",
    epilog="""\
For example: plumbline ceiling -i inventories/mysite --layer ost
With a degraded part: plumbline ceiling -i inventories/mysite --set "array1-controller1=4.2 GB/s"
""",
)

PLANNING.add(
    "inventory.plan",
    "show what each node measures, when and how",
    either(
        option("-i, --inventory DIR", "folder of the inventory"),
        option("--plan FILE", "with --format: output of plumbline plan --json; - is stdin"),
        required=True,
    ),
    option("--node NAME", "only this node; with --json its expectations"),
    option(
        "--format",
        "print the objects of a monitoring system instead",
        choices=("nagios", "icinga2"),
    ),
    option(
        "--options JSON",
        "with --format: options of the roles nagios, icinga and nrpe, such as "
        '{"contact_groups": ["storage"]}',
    ),
    shared.JSON,
    description="""\
Show which node measures what, and what is expected of it. Nothing is measured.""",
    epilog="For example: plumbline plan -i inventories/mysite --node client1",
)

PLANNING.add(
    "simulate.verbs.simulate",
    "false alarms a month and days to detection, before the pager is switched on",
    option("--days N", "simulated days", 60, type=COUNT),
    option("--fleets N", "number of equal sites", 1, type=COUNT),
    option(
        "--fault WHAT=LOSS[/week][:OPERATION][@DAY[-LAST]][~DAYS/OF]",
        "a part or target that is slower, from day 1 on or a later one: oss03-hba=40%%@12; more "
        "below",
        [],
        action="append",
    ),
    option(
        "--random-faults N",
        "number of random faults per fleet, in the first half of the days",
        0,
        type=COUNT,
    ),
    option("--loss LOSSES", "losses of random faults, such as 40%% or 15,20,30%%", "20-90%"),
    option(
        "--healthy",
        "where the rates of healthy components come from",
        "ceilings",
        choices=("ceilings", "baselines"),
    ),
    option(
        "--noise NOISE",
        "year, quiet, none, or the path of a history: the noise of a site's own records",
        "year",
    ),
    option(
        "--without-suspects",
        "count notifications as where the console does not collect: no services PATH",
    ),
    option("--seed N", "random seed", 1),
    *(shared.INVENTORY, shared.JSON),
    option(
        "--campaign N",
        "instead: N times random faults, and which parts are then suspected",
        type=COUNT,
    ),
    option(
        "--at-once",
        "faults of one time of a campaign; 0 counts false suspects",
        1,
        choices=(0, 1, 2, 3),
    ),
    description="""\
Simulate the plan of an inventory with noise, busy spells and faults, and judge it by the policy.
Prints false alarms a month and days to detection. Nothing is measured.""",
    epilog="""\
noise:  year   a production file system, fitted to a year of benchmarks on five file systems
        quiet  a file system that few use
        none   every run gives the same
        /var/lib/plumbline-console/history.sqlite
               fitted to these records: nights of groups of five members and more

faults: oss03-hba=40%@12            a part or target, from day 12 on
        oss07-lun1+neighbour=40%    a target or device and the one nearest to it
        release-2.4.0=70%:read@40   a new version, with which all targets read slower
        release-2.4.0/fs2=70%       the same for one file system
        fs2=75%, site=75%           all targets of a file system, all that is measured
        site=75%@0                  from the installation on: nothing has a baseline

A loss is of the part's own speed.  A part that is faster than its paths need has slack: losing it
slows nothing, and the answer says so.  docs/simulate.md explains the model and its limits.""",
)
