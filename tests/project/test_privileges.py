"""Missing privileges of root are reported before anything is installed or run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.processes import run_to_end
from tests.project.repository import ROOT

ALL = "000001ffffffffff"
REAL_ROOT = "         0          0 4294967295\n"
FILES = ROOT / "roles" / "lab" / "files"
CONTAINER = "root is in a user namespace, as in a rootless container"


def reason(folder: Path, capabilities: str, uid_map: str) -> str:
    (folder / "status").write_text(f"Name:\tsh\nCapEff:\t{capabilities}\n", encoding="utf-8")
    (folder / "uid_map").write_text(uid_map, encoding="utf-8")
    return subprocess.check_output([FILES / "lab-privileges", folder], text=True)


def test_real_root_lacks_nothing(tmp_path: Path) -> None:
    assert reason(tmp_path, ALL, REAL_ROOT) == ""


@pytest.mark.parametrize(
    ("capabilities", "names"),
    [
        ("000001ffffffefff", "CAP_NET_ADMIN"),
        ("000001ffffdfffff", "CAP_SYS_ADMIN"),
        ("000001fff7ffffff", "CAP_MKNOD"),
        # root in podman and docker
        ("00000000a80425fb", "CAP_NET_ADMIN CAP_SYS_ADMIN"),
    ],
)
def test_a_missing_capability_is_named(tmp_path: Path, capabilities: str, names: str) -> None:
    expected = f"root lacks the privileges {names}, as in an unprivileged container\n"
    assert reason(tmp_path, capabilities, REAL_ROOT) == expected


@pytest.mark.parametrize(
    "uid_map", ["0 1000 1\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n"]
)
def test_a_user_namespace_is_named(tmp_path: Path, uid_map: str) -> None:
    assert CONTAINER in reason(tmp_path, ALL, uid_map)


def in_user_namespace(*command: str) -> subprocess.CompletedProcess[str]:
    apart = ["unshare", "--user", "--map-root-user"]
    if run_to_end(*apart, "true").returncode:
        pytest.skip("no user namespaces here")
    return run_to_end(*apart, *command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(FILES)})


def test_make_refuses_a_user_namespace_and_names_the_alternative() -> None:
    done = in_user_namespace("make", "root")
    assert done.returncode != 0
    assert CONTAINER in done.stderr
    assert "`make check`" in done.stderr


def test_the_lab_names_the_missing_privilege_and_no_kernel_module() -> None:
    done = in_user_namespace("python3", "-B", "-m", "plumbline_lab", "kernel")
    assert done.returncode == 1
    assert CONTAINER in done.stderr
    assert "load the module" not in done.stderr


@pytest.mark.parametrize(
    ("target", "left_out"),
    [("test", "lab"), ("test-all", "ROOT_LONG"), ("demo", "tests.lab.demo")],
)
def test_without_root_the_other_steps_run(target: str, left_out: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(rf"^{target}: .*\n((?:\t.*\n)+)", makefile, flags=re.M)
    condition, _, without = recipe.partition("else")
    assert condition.startswith("\t@if .ci/root")
    assert left_out not in re.sub(r"echo '.*?'", "", without)
