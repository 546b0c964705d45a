"""Certificates of NRPE: made once, renewed in time, for one purpose; keys stay on their host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project import certificates
from tests.project.certificates import GROUP

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to root"),
]
EARLIER_EXTENSIONS = """basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:oss1
"""


def deploy(folder: Path, *words: str, **given: Any) -> bool:
    """Run the tasks and return whether they changed anything."""
    done = certificates.play(folder, *words, given=given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout
    return bool(re.search(r"changed=[1-9]", done.stdout))


def openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["openssl", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def serves(folder: Path, host: str, purpose: str) -> bool:
    """Return whether the other hosts accept the certificate of a host for a purpose."""
    files = ["-CAfile", f"{'mon1' if host == 'oss1' else 'oss1'}/ca.pem", f"{host}/cert.pem"]
    return openssl(folder, "verify", "-purpose", purpose, *files).returncode == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.parent != folder
    }


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before | after if before.get(name) != after.get(name)}


def test_a_certificate_is_made_once_for_one_purpose(tmp_path: Path) -> None:
    assert deploy(tmp_path, "-vvv", "--diff")
    made = contents(tmp_path)
    own = {f"{host}/{name}.pem" for host in ("mon1", "oss1") for name in ("ca", "cert", "key")}
    assert set(made) == own | {"authority/ca.key", "authority/ca.pem"}
    assert serves(tmp_path, "oss1", "sslserver")
    assert not serves(tmp_path, "oss1", "sslclient")
    assert serves(tmp_path, "mon1", "sslclient")
    assert not serves(tmp_path, "mon1", "sslserver")
    named = openssl(tmp_path, "x509", "-in", "oss1/cert.pem", "-noout", "-ext", "subjectAltName")
    assert "DNS:oss1\n" in named.stdout
    key = tmp_path / "oss1/key.pem"
    assert (key.owner(), key.group(), key.stat().st_mode & 0o777) == ("root", GROUP, 0o640)
    secret = tmp_path / "authority"
    assert secret.stat().st_mode & 0o777 == 0o700
    assert (secret / "ca.key").stat().st_mode & 0o777 == 0o600
    assert not deploy(tmp_path)
    assert not deploy(tmp_path, "--check")
    assert contents(tmp_path) == made


def test_check_mode_makes_nothing(tmp_path: Path) -> None:
    assert deploy(tmp_path, "--check", "--diff")
    assert contents(tmp_path) == {}
    assert not (tmp_path / "authority").exists()


def test_check_mode_works_on_a_host_without_the_cryptography_package(tmp_path: Path) -> None:
    """Like a host deployed by an earlier version, whose authority has the package."""
    deploy(tmp_path)
    made = contents(tmp_path)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    state = "{{ 'installed' if inventory_hostname == 'mon1' else 'unknown' }}"
    query = {"Debian": ["printf", f"%s {state}\\n"]}
    deploy(tmp_path, "--check", oss1_python=str(bare), __agent_query=query)
    assert contents(tmp_path) == made


def test_a_certificate_that_expires_soon_is_replaced_and_its_key_kept(tmp_path: Path) -> None:
    deploy(tmp_path, nrpe_certificate_days=50, nrpe_renew_days=40)
    made = contents(tmp_path)
    assert deploy(tmp_path, "--check")
    assert contents(tmp_path) == made
    assert deploy(tmp_path)
    assert changed(made, contents(tmp_path)) == {"mon1/cert.pem", "oss1/cert.pem"}
    assert serves(tmp_path, "oss1", "sslserver")
    assert not deploy(tmp_path)


def test_damaged_or_missing_files_are_made_again(tmp_path: Path) -> None:
    deploy(tmp_path)
    for damage, after in (
        ("oss1/cert.pem", {"oss1/cert.pem"}),
        ("oss1/key.pem", {"oss1/key.pem", "oss1/cert.pem"}),
        ("oss1/ca.pem", set()),
    ):
        made = contents(tmp_path)
        (tmp_path / damage).write_bytes(b"\xff\x00no PEM")
        deploy(tmp_path, "--check")
        assert deploy(tmp_path)
        assert changed(made, contents(tmp_path)) == after
        assert serves(tmp_path, "oss1", "sslserver")
        (tmp_path / damage).unlink()
        assert deploy(tmp_path)
        assert serves(tmp_path, "oss1", "sslserver")
    made = contents(tmp_path)
    for name in ("ca.key", "ca.pem"):
        (tmp_path / "authority" / name).unlink()
    assert deploy(tmp_path)
    assert {name for name in made if "key.pem" not in name} == changed(made, contents(tmp_path))
    assert serves(tmp_path, "oss1", "sslserver")


def test_a_host_that_becomes_a_client_gets_a_certificate_for_both_purposes(tmp_path: Path) -> None:
    deploy(tmp_path)
    assert deploy(tmp_path, nrpe_certificate_client=True)
    assert serves(tmp_path, "oss1", "sslclient")
    assert serves(tmp_path, "oss1", "sslserver")


def test_a_limited_play_uses_the_authority_outside_of_it(tmp_path: Path) -> None:
    deploy(tmp_path, these="oss1")
    assert not (tmp_path / "mon1").exists()
    files = ["-CAfile", "authority/ca.pem", "oss1/cert.pem"]
    assert openssl(tmp_path, "verify", *files).returncode == 0


def test_certificates_of_earlier_versions_are_kept(tmp_path: Path) -> None:
    """Earlier versions made authority, key and certificate with openssl."""
    for folder in ("authority", "oss1"):
        (tmp_path / folder).mkdir()
    (tmp_path / "extensions").write_text(EARLIER_EXTENSIONS)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    ca = ["-subj", "/CN=plumbline test", "-keyout", "authority/ca.key", "-out", "authority/ca.pem"]
    own = ["-subj", "/CN=oss1", "-keyout", "oss1/key.pem", "-out", "request"]
    by = ["-CA", "authority/ca.pem", "-CAkey", "authority/ca.key", "-set_serial", "0x7"]
    result = ["-extfile", "extensions", "-days", "825", "-out", "oss1/cert.pem"]
    for words in (
        ["req", "-x509", *key, "-days", "8250", *ca],
        ["req", "-new", *key, *own],
        ["x509", "-req", "-in", "request", *by, *result],
    ):
        done = openssl(tmp_path, *words)
        assert done.returncode == 0, done.stderr
    made = contents(tmp_path)
    files = ["-CAfile", "authority/ca.pem", "oss1/cert.pem"]
    assert openssl(tmp_path, "verify", *files).returncode == 0
    deploy(tmp_path)
    now = contents(tmp_path)
    assert {name for name in made if made[name] != now[name]} == set()
    assert serves(tmp_path, "oss1", "sslserver")
    assert not deploy(tmp_path)
