"""Layer ``mdt``: metadata of file systems; a client times calls in a folder on one metadata target.

Judged are calls that the metadata target alone answers: ``mknod``, ``unlink`` and ``mkdir``; and
``create``, which on Lustre also takes an object that an OST has created in advance.  ``stat`` and
``open`` of a file just created are answered from the client's locks, and ``rmdir`` costs what
``mkdir`` does: the three are recorded, and judged if the policy names them.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer, times_of_calls, times_of_requests
from plumbline.model.quantity import OPERATIONS_PER_S
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

CREATE = Operation.define("create", OPERATIONS_PER_S)
MKNOD = Operation.define("mknod", OPERATIONS_PER_S)
UNLINK = Operation.define("unlink", OPERATIONS_PER_S)
MKDIR = Operation.define("mkdir", OPERATIONS_PER_S)

REQUESTS_OF = {CREATE: (6, 7), MKNOD: (2, 2), UNLINK: (2, 2), MKDIR: (2, 2)}
"""Requests to the MDT for each call of an operation, at least and at most.

As ``md_stats`` of Lustre 2.17 counts them: creating is open, mknod and close, opening is open and
close, and what was made is removed in the same run.  The client's locks may answer a ``stat``.
"""

REQUESTS_OF_SHORT = 4
"""Least requests for each call of a short run of CREATE: its further steps may be cut as well."""

FILES = 1000
"""Most files or folders of one run."""

MDT = Layer(
    name="mdt",
    noun="metadata target",
    operations=(CREATE, MKNOD, UNLINK, MKDIR),
    quantities=(
        *times_of_calls(CREATE, MKNOD, UNLINK, MKDIR),
        CREATE.define_quantity("stat", OPERATIONS_PER_S),
        CREATE.define_quantity("open", OPERATIONS_PER_S),
        MKDIR.define_quantity("rmdir", OPERATIONS_PER_S),
        *times_of_requests(CREATE, MKNOD, UNLINK, MKDIR),
    ),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec(
        "calls",
        bytes=0,
        seconds=10.0,
        transfer_bytes=0,
        queue_depth=1,
        direct=False,
        pattern=f"{FILES} files",
    ),
    min_efficiency=0.0,
    depth=8,
    results="metadata",
    measured_by="ost",
    on_targets=True,
    of_metadata=True,
    grouped=True,
    if_named=True,
)
