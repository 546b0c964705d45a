"""``plumbline receive``: keep the receiving ends of this host's RDMA adapters waiting."""

from __future__ import annotations

import argparse

from plumbline.cli.options import deployed
from plumbline.cli.output import remark, say
from plumbline.measure.receiver import Receiver, failures, servers_of
from plumbline.model.errors import INTERRUPTED
from plumbline.observe.command import SystemClock, SystemRunner, locate
from plumbline.site.measure import interruptible


def receive(arguments: argparse.Namespace) -> int:
    """Wait for partners; return 0, or raise if no receiving end could wait."""
    servers = servers_of(deployed(arguments).find(arguments.layer))
    locate(servers[0].argv[0])
    if arguments.dry_run:
        say(*(" ".join(server.argv) for server in servers))
        return 0
    receiver = Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop))
    with interruptible():
        try:
            receiver.serve(servers, arguments.limit)
        except KeyboardInterrupt:
            receiver.close()
            return INTERRUPTED
    remark(*failures(receiver, servers))
    return 0
