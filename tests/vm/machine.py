"""A Debian 13 virtual machine with its own kernel, in qemu's software emulation.

``python -m tests.vm.machine`` starts it in this terminal and logs in as root; ``poweroff`` ends it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache/vm"
DISKS = 6
_BOOT_S = 300.0
_COMMAND_S = 300.0


class Result(NamedTuple):
    """Exit code and output of a command of the machine."""

    code: int
    stdout: str
    stderr: str


class MachineError(Exception):
    """Failure of the machine to start or answer, or of a command in it."""


class Machine:
    """A running machine that runs shell commands one after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._port = connection.makefile("rw", encoding="utf-8")
        if self._port.readline() != "ready\n":
            raise MachineError(f"the virtual machine ended while it started: see {CACHE}/console")

    def run(self, command: str) -> Result:
        """Run a command as root and return its result."""
        self._port.write(json.dumps(command) + "\n")
        self._port.flush()
        answer = self._port.readline()
        if not answer:
            raise MachineError(f"the virtual machine ended: see {CACHE}/console")
        return Result(*json.loads(answer))

    def start(self, command: str) -> None:
        """Run a command and wait for udev; raise MachineError if it fails."""
        self.output(f"{command} && udevadm settle")

    def wait(self, command: str) -> None:
        """Repeat a command until it succeeds; raise MachineError after a minute."""
        self.output(f"for try in $(seq 60); do {command} && exit; sleep 1; done; exit 1")

    def output(self, command: str) -> str:
        """Run a command and return its output; raise MachineError if it fails."""
        result = self.run(command)
        if result.code:
            raise MachineError(f"{command}: {result.code}\n{result.stdout}{result.stderr}")
        return result.stdout


def arguments(folder: Path) -> list[str]:
    """Return the command line of qemu, with disks in the folder."""
    disks = [folder / f"disk{number}" for number in range(1, DISKS + 1)]
    for disk in disks:
        with disk.open("wb") as file:
            file.truncate(64 << 20)
    words = [
        # not kvm: a /dev/kvm may exist and hang
        "qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024",
        "-display none -nodefaults",
        f"-no-reboot -kernel {CACHE}/kernel -initrd {CACHE}/initrd",
        f"-drive file={CACHE}/disk,format=raw,if=virtio,snapshot=on",
        f"-virtfs local,path={folder},mount_tag=plumbline,security_model=none,readonly=on",
        "-device virtio-serial-pci -device virtserialport,chardev=port,name=plumbline",
        "-device virtio-scsi-pci",
        *(
            f"-drive file={disk},format=raw,if=none,id={disk.name}"
            f" -device scsi-hd,drive={disk.name},serial=oss1-{disk.name}"
            for disk in disks
        ),
    ]
    kernel = "root=/dev/vda console=ttyS0 quiet mitigations=off security=selinux enforcing=1"
    return [*" ".join(words).split(), "-append", kernel]


@contextmanager
def running(folder: Path) -> Iterator[Machine]:
    """Start the machine, and end it at the end."""
    path = folder / "port"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(_BOOT_S)
        ports = ["-chardev", f"socket,id=port,path={path}", "-serial", f"file:{CACHE}/console"]
        process = subprocess.Popen([*arguments(folder), *ports], stdin=subprocess.DEVNULL)
        try:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(_COMMAND_S)
                yield Machine(connection)
        finally:
            process.kill()
            process.wait()


def main() -> None:
    """Start the machine in this terminal."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = ["-serial", "mon:stdio", "-chardev", "null,id=port"]
        subprocess.run([*arguments(Path(folder)), *terminal], check=True)


if __name__ == "__main__":
    main()
