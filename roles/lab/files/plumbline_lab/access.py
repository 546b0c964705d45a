"""Names and keys: files for each host before it boots, and the ssh configuration."""

from __future__ import annotations

import shutil
from pathlib import Path

from plumbline_lab import naming
from plumbline_lab.command import run
from plumbline_lab.document import Host, Lab

KEY = "id_ed25519"


def up(lab: Lab) -> list[str]:
    """Create keys and ssh configuration of this lab, unless they exist."""
    folder = lab.run_dir / "ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    done: list[str] = []
    for name in [KEY, *(_host_key_name(host) for host in lab.hosts)]:
        if not (folder / f"{name}.pub").exists():
            (folder / name).unlink(missing_ok=True)  # half of a pair, after a crash
            run(
                [
                    "ssh-keygen",
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-C",
                    "plumbline-lab",
                    "-f",
                    str(folder / name),
                ]
            )
            done.append(f"key {name}")
    _write(folder / "known_hosts", _known_hosts(lab, folder), done)
    _write(folder / "config", _config(lab, folder), done)
    return done


def _host_key_name(host: str) -> str:
    return f"host_{host}"


def _write(path: Path, text: str, done: list[str]) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.write_text(text, encoding="utf-8")
    done.append(str(path))


def _known_hosts(lab: Lab, folder: Path) -> str:
    lines = []
    for host in lab.hosts.values():
        key = (folder / f"{_host_key_name(host.name)}.pub").read_text(encoding="utf-8").strip()
        lines.append(f"{host.name},{host.address} {key}")
    return "\n".join(lines) + "\n"


def _config(lab: Lab, folder: Path) -> str:
    """Return the ssh configuration: netcat connects in the control namespace on behalf of ssh."""
    names = "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in lab.hosts.values())
    return (
        f"{names}Host *\n"
        "  User root\n"
        f"  IdentityFile {folder / KEY}\n"
        "  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder / 'known_hosts'}\n"
        "  StrictHostKeyChecking yes\n"
        "  ServerAliveInterval 15\n"
        f"  ProxyCommand ip netns exec {naming.control()} nc.openbsd -F %h %p\n"
        "  ProxyUseFdpass yes\n"
    )


def seed(lab: Lab, host: Host) -> Path:
    """Write the files that turn a base system into this host; return their folder."""
    folder = lab.run_dir / "seed" / host.name
    if folder.exists():
        shutil.rmtree(folder)
    for place in ("etc/ssh", "etc/apt/sources.list.d", "root/.ssh"):
        (folder / place).mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "root").chmod(0o700)
    (folder / "root/.ssh").chmod(0o700)
    keys = lab.run_dir / "ssh"
    pair = _host_key_name(host.name)
    shutil.copy2(keys / pair, folder / "etc/ssh/ssh_host_ed25519_key")
    shutil.copy2(keys / f"{pair}.pub", folder / "etc/ssh/ssh_host_ed25519_key.pub")
    shutil.copy2(keys / f"{KEY}.pub", folder / "root/.ssh/authorized_keys")
    (folder / "root/.ssh/authorized_keys").chmod(0o600)
    (folder / "etc/hostname").write_text(f"{host.name}\n", encoding="utf-8")
    everyone = "".join(f"{other.address}\t{other.name}\n" for other in lab.hosts.values())
    itself = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n"
    (folder / "etc/hosts").write_text(itself + everyone, encoding="utf-8")
    # Unsigned on purpose: this machine creates the mirror, and nobody else is on the bridge.
    source = f"deb [trusted=yes] http://{lab.control_address}/{host.release} ./\n"
    (folder / "etc/apt/sources.list.d/lab.list").write_text(source, encoding="utf-8")
    return folder
