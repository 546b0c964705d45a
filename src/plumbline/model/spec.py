"""Specification of a probe: the terms that comparable measurements must share."""

from __future__ import annotations

import json
from typing import Annotated, Any, Mapping, NamedTuple, Optional

from plumbline.model.units import format_rate, format_size
from plumbline.model.validation import Within, amounts, counts, rates

MAX_DEPTH = 65536
MAX_REPEATS = 1000


class ProbeSpec(NamedTuple):
    """Terms of one measurement; a term that a tool does not use has its default.

    ``bytes``: most bytes per operation and repeat.  ``seconds``: limit of one operation.
    ``transfer_bytes``: bytes of one call.  ``queue_depth``: calls in flight (fio: iodepth, sgp_dd:
    thr, netperf and iperf3: parallel streams).  ``repeats``: number per run; the median counts.
    ``rate_cap_Bps``: None for no cap.  ``direct``: bypass the client's page cache.  ``pattern``:
    further terms of a parallel probe in words: test, ranks, and whether data or time is fixed.
    """

    tool: str
    bytes: Annotated[int, counts]
    seconds: Annotated[float, amounts]
    transfer_bytes: Annotated[int, counts] = 1 << 20
    queue_depth: Annotated[int, Within(1, MAX_DEPTH)] = 8
    repeats: Annotated[int, Within(1, MAX_REPEATS)] = 3
    rate_cap_Bps: Optional[Annotated[float, rates]] = None
    direct: bool = True
    pattern: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form, without an empty pattern."""
        raw = self._asdict()
        if not self.pattern:
            # older documents have no pattern, and their hashes must stay valid
            del raw["pattern"]
        return raw

    def hash(self) -> str:
        """Return 12 hexadecimal digits, equal only for equal specifications.

        ``repeats`` and ``seconds`` do not count: they limit a run, but do not change its rate.
        """
        from hashlib import sha256  # only recorders need it; a check never does

        terms = {k: v for k, v in self.to_json().items() if k not in ("repeats", "seconds")}
        # the earlier name, so the hashes of older baselines stay valid
        terms["block_bytes"] = terms.pop("transfer_bytes")
        return sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()[:12]


def terms(spec: Mapping[str, Any]) -> str:
    """Return the terms that ``hash`` covers in words, from the document form; skip missing ones.

    E.g. ``fio, 1 GiB, transfer 1 MiB, depth 8, direct``.
    """
    size, transfer, cap = spec.get("bytes"), spec.get("transfer_bytes"), spec.get("rate_cap_Bps")
    words = [
        str(spec.get("tool", "")),
        format_size(size) if size else "",
        f"transfer {format_size(transfer)}" if transfer else "",
        f"depth {spec['queue_depth']}" if "queue_depth" in spec else "",
        f"at most {format_rate(cap)}" if cap else "",
        ("direct" if spec["direct"] else "not direct") if "direct" in spec else "",
        str(spec.get("pattern", "")),
    ]
    return ", ".join(word for word in words if word)
