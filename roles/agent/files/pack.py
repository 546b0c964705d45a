"""Pack the package and the checks into archives whose names follow from their content.

Run on the control host: ``pack.py SOURCE CACHE`` prints the paths of two, one a line: of what a
node runs, and of everything, for the console.  A node runs the checks and the verbs whose modules
the command line names as a node's, with all modules that these import.  Equal sources give the
same name on any machine, so a host can tell from it alone whether it has them.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import io
import os
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Iterable, Iterator, Mapping

COMMAND = "plumbline.cli"
STARTED = ("plumbline.cli.__main__", "plumbline.parallel.rank", "plumbline.measure.own_folders")
"""What units, launchers and roles start by its name."""


def everything(root: Path) -> dict[str, Path]:
    """Return the file of each name in the archive of the console."""
    found = {}
    for folder, prefix in ((root / "src" / "plumbline", "plumbline"), (root / "checks", "checks")):
        if not folder.is_dir():
            sys.exit(f"{folder} does not exist; set agent_source_directory to a whole checkout.")
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found[f"{prefix}/{path.relative_to(folder).as_posix()}"] = path
    return found


def of_a_node(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return those files that a node runs."""
    checks = {name: path for name, path in files.items() if name.startswith("checks/")}
    every = {_module(name): name for name in files if name.endswith(".py")}
    # modules that begin by importing one of these cannot be loaded there
    modules = _loadable(every, files, _named(files[every[COMMAND]], "CONSOLE_LIBRARIES"))
    given = _named(files[every[COMMAND]], "NODE_MODULES")
    wanted = [COMMAND, *STARTED, *(f"{COMMAND}.{name}" for name in given)]
    for path in checks.values():
        wanted += _imports(path)
    needed: set[str] = set()
    while wanted:
        module = _nearest(wanted.pop(), modules)
        if module and module not in needed:
            needed.add(module)
            wanted += [module.rpartition(".")[0], *_imports(files[modules[module]])]
    names = {modules[module] for module in needed} | checks.keys()
    return {name: path for name, path in files.items() if name in names}


def _loadable(
    modules: Mapping[str, str], files: Mapping[str, Path], libraries: Iterable[str]
) -> dict[str, str]:
    """Return the modules that can be loaded without the packages of the console."""
    at_once = {module: set(_at_once(files[name])) for module, name in modules.items()}
    refused = set(libraries)
    while True:
        more = {module for module, found in at_once.items() if found & refused} - refused
        if not more:
            return {module: name for module, name in modules.items() if module not in refused}
        refused |= more


def _module(name: str) -> str:
    return name[: -len(".py")].replace("/", ".").replace(".__init__", "")


def _nearest(name: str, modules: Iterable[str]) -> str:
    """Return the module that a name is or stands in; what is imported may be a function."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    """Yield all that a file imports anywhere but for its types."""
    left: list[ast.AST] = [_tree(path)]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            left += node.orelse
            continue
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        # no expression imports
        left += (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr))


def _at_once(path: Path) -> Iterator[str]:
    """Yield what a module imports as soon as it is loaded."""
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _named(path: Path, name: str) -> tuple[str, ...]:
    """Return the constant of a module without importing it."""
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return tuple(map(str, ast.literal_eval(node.value)))
    sys.exit(f"{path} has no {name}; set agent_source_directory to a whole checkout.")


def archive(files: Mapping[str, Path]) -> bytes:
    """Return a tar archive without owners and times of its own: only names, modes and content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in files.items():
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name.startswith("checks/") else 0o644
            # 1980, the oldest time that every archive format can hold; the same on all machines.
            member.mtime = 315532800
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def keep(content: bytes, cache: Path) -> Path:
    """Write an archive, compressed, into the cache unless it is there, and return its path."""
    target = cache / f"plumbline-{hashlib.sha256(content).hexdigest()[:16]}.tar.gz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as partial:
            partial.write(gzip.compress(content, mtime=0))
        os.replace(partial.name, target)
    return target


def main(source: str, cache: str) -> None:
    """Print the path of the archive of a node, then of that of the console."""
    files = everything(Path(source).resolve())
    for chosen in (of_a_node(files), files):
        print(keep(archive(chosen), Path(cache)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
