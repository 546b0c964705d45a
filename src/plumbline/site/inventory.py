"""Read and write the documents of an inventory: the one place that knows YAML and its folder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional

from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.units import format_size

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.plan.expectations import Plan
    from plumbline.topology.graph import Topology

FOLDER = Path("group_vars") / "all"


class Inventory(NamedTuple):
    """The parsed documents of a site; policy and baselines are empty where there are none."""

    folder: Path
    topology: Any
    policy: Any
    baselines: Any

    @property
    def baselines_file(self) -> Path:
        """The document that ``plumbline baseline accept`` writes."""
        return self.folder / FOLDER / "baselines.yml"

    @property
    def candidates_file(self) -> Path:
        """Captured baselines that wait to be accepted; Ansible does not read hidden files."""
        return self.folder / ".plumbline-candidates.yml"


def read_inventory(path: str) -> Inventory:
    """Return the documents of the inventory folder ``path``, or of the one that has that file.

    Raises:
        DocumentError: there is no such inventory, it has no topology, or YAML is damaged.
        ToolError: the console's libraries are not installed.
    """
    folder = _folder(Path(path))
    topology = folder / FOLDER / "topology.yml"
    if not topology.exists():
        raise DocumentError(
            f"inventory {folder} has no {FOLDER / 'topology.yml'}; "
            "describe the site's parts there as in docs/topology.md"
        )
    return Inventory(
        folder,
        read_document(topology, "plumbline_topology"),
        _optional(folder / FOLDER / "policy.yml", "plumbline_policy"),
        _optional(folder / FOLDER / "baselines.yml", "plumbline_baselines"),
    )


def topology_of(inventory: Inventory, zone: str = "fastest") -> Topology:
    """Return the components of the site with what disks give in ``zone`` (of topology.document).

    Raises:
        DocumentError: the parts do not fit together.
    """
    need_console_libraries()
    from plumbline.topology.document import Zone
    from plumbline.topology.graph import build

    return build(inventory.topology, Zone(zone))


def plan_of(inventory: Inventory, topology: Optional[Topology] = None) -> Plan:
    """Return what the documents of the site say together; raise DocumentError for trouble.

    ``topology`` is that of the inventory, where it is known already.
    """
    need_console_libraries()
    from plumbline.plan.baseline import read_baselines
    from plumbline.plan.expectations import compile_plan
    from plumbline.plan.policy import load

    site = topology_of(inventory) if topology is None else topology
    return compile_plan(site, load(inventory.policy), read_baselines(inventory.baselines))


def expectations_of(inventory: Inventory) -> dict[tuple[str, str], Expectation]:
    """Return what is expected of each layer and component, without baselines.

    Raises:
        DocumentError: the documents do not fit together.
    """
    need_console_libraries()
    from plumbline.plan.assignments import assignments
    from plumbline.plan.policy import load
    from plumbline.plan.references import expectation, find_ceilings, find_goals

    topology = topology_of(inventory)
    policy = load(inventory.policy)
    measured = assignments(topology, policy)
    ceilings = find_ceilings(topology, measured)
    goals = find_goals(policy, measured, ceilings)
    return {
        (assignment.layer, assignment.component): expectation(
            topology, assignment, ceilings, {}, goals
        )
        for assignment in measured
    }


def deployed_hosts(inventory: Inventory) -> frozenset[str]:
    """Return the hosts that ``hosts.yml`` lists for Ansible; none where there is no such file.

    Raises:
        DocumentError: the file is damaged.
    """
    from plumbline.topology.names import expand

    path = inventory.folder / "hosts.yml"
    groups = [_parse(path)] if path.exists() else []
    names: set[str] = set()
    while groups:
        group = groups.pop()
        if isinstance(group, Mapping):
            hosts = group.get("hosts") or {}
            if not isinstance(hosts, (Mapping, list)):
                raise DocumentError(
                    f"{path}: hosts is {hosts!r:.60}, which names none; write a host a line"
                )
            # Ansible writes oss[01:24] what the topology writes oss[01-24]
            written = [str(name).replace(":", "-") for name in hosts]
            names.update(name for text in written for name in expand(text))
            groups += [below for key, below in group.items() if key not in ("hosts", "vars")]
    return frozenset(names)


def read_document(path: Path, key: str) -> Any:
    """Return what stands under the one ``key`` of a YAML file.

    Raises:
        DocumentError: the file cannot be read, is damaged, or has other keys than ``key``.
    """
    raw = _parse(path)
    if not isinstance(raw, Mapping) or list(raw) != [key]:
        given = ", ".join(map(repr, raw)) if isinstance(raw, Mapping) and raw else "nothing of it"
        raise DocumentError(f"{path} must have the one key {key!r}, but has {given}; correct it")
    return raw[key]


def _folder(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        raise DocumentError(
            f"there is no inventory {path}; give its folder, for example -i inventories/lab"
        )
    return folder


def _optional(path: Path, key: str) -> Any:
    return read_document(path, key) if path.exists() else {}


def _parse(path: Path) -> Any:
    need_console_libraries()
    import yaml

    from plumbline.site.yaml_values import read_yaml

    try:
        return read_yaml(_text(path))
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path} is no UTF-8 text (byte {error.start}); save it so") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}" if mark else ""
        raise DocumentError(f"{path}{line} is no valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"{path} is no valid YAML: {error!s:.300}") from error


def _text(path: Path) -> str:
    from plumbline.site.yaml_values import MOST_BYTES

    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DocumentError(f"{path} has more than {format_size(MOST_BYTES)}; look what wrote it")
    return data.decode("utf-8")


def _reads_inventories() -> bool:
    try:
        return find_spec("plumbline.plan.policy") is not None
    except ModuleNotFoundError:
        return False


def need_console_libraries() -> None:
    """Refuse a node, which has no module that uses them; raise ToolError."""
    if not _reads_inventories():
        raise ToolError(
            "this host has what nodes need, which reads no inventory; do so on the monitoring host "
            "or on the control host"
        )
