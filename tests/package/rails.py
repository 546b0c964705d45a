"""A site with two rails: the hosts of the first come by two leaves, those of the second by one."""

from __future__ import annotations

from typing import Any

from tests.package.sites import parts

POLICY: dict[str, Any] = {"layers": {"rdma": {}}}
"""The policy that measures adapters too."""


def rails() -> dict[str, Any]:
    """Return the document of four servers with a target each, and two clients."""
    adapters = [
        {"name": name, "kind": "nic", "infiniband": "4X HDR", "rdma": device, "feeds": leaf}
        for name, device, leaf in (
            ("oss[1-2]-ib0", "mlx5_0", "leaf1"),
            ("oss[3-4]-ib0", "mlx5_0", "leaf2"),
            ("c1-ib0", "mlx5_0", "leaf1"),
            ("c2-ib0", "mlx5_0", "leaf2"),
            ("oss[1-4]-ib1", "mlx5_1", "leaf3"),
            ("c[1-2]-ib1", "mlx5_1", "leaf3"),
        )
    ]
    return parts(
        {"name": "spine", "kind": "switch"},
        {"name": "leaf[1-3]", "kind": "switch", "feeds": "spine"},
        *adapters,
        *(
            {
                "name": name,
                "kind": kind,
                "address": address,
                "feeds": [f"{name}-ib0", f"{name}-ib1"],
                "through": f"{name}-ib0",
            }
            for name, kind, address in (
                ("oss[1-4]", "server", "10.0.0.[1-4]"),
                ("c[1-2]", "client", "10.0.1.[1-2]"),
            )
        ),
        {
            "name": "oss[1-4]-disk",
            "kind": "disk",
            "rate": "2 GB/s",
            "device": "/dev/disk/by-id/{name}",
            "feeds": "oss[1-4]",
        },
        file_systems=[
            {
                "name": "scratch",
                "kind": "glusterfs",
                "mount": "/mnt/scratch",
                "client": "c1",
                "targets": [
                    {
                        "name": "scratch-OST[1-4]",
                        "part": "oss[1-4]-disk",
                        "subvolume": "scratch-client-[0-3]",
                    }
                ],
            }
        ],
    )
