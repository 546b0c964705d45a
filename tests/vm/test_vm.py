"""Symptoms and probes on a real kernel."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from plumbline.model.codec import compact
from plumbline.model.service import NO_ALARMS
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.store.files import seal
from plumbline.store.verdicts import published_paths
from tests.project.certificates import play
from tests.project.repository import document
from tests.project.test_nrpe import deploy
from tests.vm.conftest import FLASH, Node, Symptom
from tests.vm.machine import ROOT

FINE = State.OK, Reason.FINE, "oss1 is no suspect"
BY_ID = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_oss1-disk"
SECTORS = 131072
LATE_S = 36e-3
"""Least time of a read that waits for 40 ms: device-mapper counts ticks of 4 ms."""
# The kernel notices the state of a path late, so multipathd polls the path itself.
MULTIPATH = """
defaults {
  polling_interval 1
  find_multipaths no
}
overrides {
  path_grouping_policy group_by_prio
  detect_prio no
  prio alua
}
blacklist {
  devnode "^(vd|nvme)"
  device {
    vendor QEMU
    product ".*"
  }
}
multipaths {
  multipath {
    wwid 1Linux_scsi_debug_2000
    alias oss1-lun
  }
}
"""
NVMET = f"""
modprobe -a nvmet-tcp nvme-tcp
cd /sys/kernel/config/nvmet
mkdir -p subsystems/plumbline/namespaces/1 ports/1
echo 1 > subsystems/plumbline/attr_allow_any_host
readlink -f {BY_ID}6 | tr -d '\\n' > subsystems/plumbline/namespaces/1/device_path
echo 1 > subsystems/plumbline/namespaces/1/enable
echo tcp > ports/1/addr_trtype
echo ipv4 > ports/1/addr_adrfam
echo 127.0.0.1 > ports/1/addr_traddr
echo 4420 > ports/1/addr_trsvcid
ln -s $PWD/subsystems/plumbline ports/1/subsystems/
nvme connect -t tcp -a 127.0.0.1 -s 4420 -n plumbline
"""
NRPE = """
cp /mnt/nrpe/nrpe.cfg /etc/nagios/nrpe.cfg
cp /mnt/nrpe/plumbline.cfg /etc/nagios/nrpe.d/
cd /etc/nagios/nrpe.d
echo 'command[forge]=/usr/bin/touch /var/lib/plumbline/forged 2>&1' >> plumbline.cfg
mkdir -p /etc/plumbline-tls
cp -r /mnt/nrpe/oss1 /mnt/nrpe/mon1 /etc/plumbline-tls/
chgrp -R nagios /etc/plumbline-tls /etc/nagios
chmod -R g+rX /etc/plumbline-tls /etc/nagios
chmod -R o+rX /etc/plumbline /var/lib/plumbline
chmod o+w /var/lib/plumbline
restorecon -R /etc
systemctl restart nagios-nrpe-server
"""
ASK = (
    "/usr/lib/nagios/plugins/check_nrpe -H 127.0.0.1 -u -t 60:3 -A /etc/plumbline-tls/mon1/ca.pem"
    " -C /etc/plumbline-tls/mon1/cert.pem -K /etc/plumbline-tls/mon1/key.pem -c"
)


def speed(node: Node, limit: int) -> None:
    """Limit the rebuild speed of arrays, in 1000 bytes per second."""
    for name in ("max", "min"):
        node.output(f"echo {limit} > /proc/sys/dev/raid/speed_limit_{name}")


def array_symptoms(node: Node) -> set[tuple[str, str]]:
    return {(row["kind"], row["direction"]) for row in node.looks()["md"]["symptoms"]}


def test_a_healthy_node_has_no_symptom(node: Node) -> None:
    looks = node.looks()
    assert [look["symptoms"] for look in looks.values() if look["symptoms"]] == []
    assert looks["smart"]["examined"] == 6
    assert looks["kernel"]["examined"] > 100


def test_an_array_is_degraded_then_recovers_then_has_no_symptom(node: Node) -> None:
    before = node.symptoms()
    node.start(f"mdadm --create /dev/md0 --run --level=1 --raid-devices=2 {BY_ID}1 {BY_ID}2")
    node.output("mdadm --wait /dev/md0 || true")
    assert node.looks()["md"]["examined"] == 1
    assert node.symptoms() == before
    node.output(f"mdadm /dev/md0 --fail {BY_ID}2")
    block = node.output(f"basename $(readlink -f {BY_ID}2)").strip()
    assert node.symptoms() - before == {
        Symptom(
            "oss1-disk2", "member_failed", "CRITICAL", "raises", f"{block} has failed in array md0"
        ),
        Symptom(
            "oss1", "degraded", "WARNING", "raises", "array md0 is degraded, 1 of 2 members missing"
        ),
        Symptom(
            "oss1-disk2",
            "member_failed",
            "CRITICAL",
            "raises",
            f"kernel: failures of {block} in its array",
        ),
    }
    speed(node, 500)
    node.output(f"mdadm /dev/md0 --remove {BY_ID}2 && mdadm /dev/md0 --add {BY_ID}3")
    assert array_symptoms(node) == {("degraded", "lowers"), ("recovery", "lowers")}
    speed(node, 500_000)
    node.output("mdadm --wait /dev/md0 || true")
    assert array_symptoms(node) == set()
    node.output(f"mdadm --stop /dev/md0 && mdadm --zero-superblock {BY_ID}1 {BY_ID}2 {BY_ID}3")


def test_a_reshape_of_an_array_is_a_symptom(node: Node) -> None:
    members = f"{BY_ID}4 {BY_ID}5 {BY_ID}6"
    node.start(f"mdadm --create /dev/md1 --run --level=5 --raid-devices=3 --assume-clean {members}")
    assert array_symptoms(node) == set()
    speed(node, 500)
    node.output(f"mdadm /dev/md1 --add {BY_ID}1 && mdadm --grow /dev/md1 --raid-devices=4")
    assert array_symptoms(node) == {("reshape", "lowers")}
    speed(node, 500_000)
    node.output("mdadm --wait /dev/md1 || true")
    assert array_symptoms(node) == set()
    node.output(f"mdadm --stop /dev/md1 && mdadm --zero-superblock {BY_ID}1 {members}")


def test_errors_of_a_flaky_device_are_symptoms(node: Node) -> None:
    before = node.symptoms()
    healthy = f"0 {SECTORS} linear {BY_ID}3 0"
    node.start(f"dmsetup create oss1-flaky --table '{healthy}'")
    assert node.symptoms() == before
    node.start(
        f"dmsetup reload oss1-flaky --table '0 {SECTORS} flakey {BY_ID}3 0 0 60'"
        " && dmsetup resume oss1-flaky"
    )
    assert node.run("dd if=/dev/mapper/oss1-flaky of=/dev/null bs=1M count=1").code == 1
    assert {symptom[:4] for symptom in node.symptoms() - before} == {
        ("oss1-flaky", "buffer_error", "CRITICAL", "raises")
    }
    # it stays: a new device with its number would inherit its messages in the log
    node.start(f"dmsetup load oss1-flaky --table '{healthy}' && dmsetup resume oss1-flaky")


def test_a_slow_device_shows_in_the_raw_probe(node: Node) -> None:
    node.start(f"dmsetup create oss1-slow --table '0 {SECTORS} delay {BY_ID}4 0 40'")
    names = "oss1-disk4", "oss1-slow"
    components = " ".join(f"--component {name}" for name in names)
    records = node.document(f"probe raw {components}")["records"]
    rates = {
        name: [record["rate"] for record in records if record["component"] == name]
        for name in names
    }
    # 40 ms for each MiB
    assert max(rates["oss1-slow"]) < 2**20 / 40e-3
    # other work on the machine can only lower a rate
    assert max(rates["oss1-disk4"]) > 2 * max(rates["oss1-slow"])
    node.output("dmsetup remove --retry oss1-slow")


def make_flash(node: Node, disk: str) -> None:
    """Make two devices of a disk: one as it is, one where one in 200 places waits 40 ms."""
    late = SECTORS // 200 // 8 * 8
    even = SECTORS - late
    table = f"0 {even} linear {disk} 0\\n{even} {late} delay {disk} {even} 40"
    node.start(f"dmsetup create oss1-even --table '0 {SECTORS} linear {disk} 0'")
    node.start(f"printf '{table}\\n' | dmsetup create oss1-late")


def flash_records(node: Node) -> list[dict[str, Any]]:
    """Measure both devices, one after the other; return the records."""
    components = " ".join(f"--component {name}" for name in FLASH)
    records: list[dict[str, Any]] = node.document(f"probe raw {components}")["records"]
    return records


def small_reads(node: Node) -> dict[str, dict[str, float]]:
    """Return the times of small reads of both devices in seconds."""
    return {
        record["component"]: record["quantities"]
        for record in flash_records(node)
        if record["operation"] == "randread"
    }


def remove_flash(node: Node) -> None:
    for name in FLASH:
        node.output(f"dmsetup remove --retry {name}")


def test_a_late_tail_shows_in_small_reads_alone(node: Node) -> None:
    make_flash(node, f"{BY_ID}4")
    # the kernel calls the disks of qemu rotating ones
    small = [record for record in flash_records(node) if record["operation"].startswith("randread")]
    assert {record["outcome"] for record in small} == {"skipped"}
    assert all("a rotating disk, the topology calls it flash" in r["reason"] for r in small)
    for name in FLASH:
        dm = f"/sys/block/$(basename $(readlink -f /dev/mapper/{name}))"
        node.output(f"echo 0 > {dm}/queue/rotational")
    times = small_reads(node)
    assert times["oss1-late"]["p99.9"] > LATE_S
    assert times["oss1-late"]["p50"] < LATE_S
    assert times["oss1-even"]["p99"] < LATE_S
    remove_flash(node)


NULL_BLK = """
modprobe null_blk nr_devices=0
mkdir /sys/kernel/config/nullb/nullb0
cd /sys/kernel/config/nullb/nullb0
echo 64 > size
echo 2 > irqmode
echo 5000000 > completion_nsec
echo 1 > power
"""


def test_a_late_tail_of_flash_of_which_each_read_takes_five_milliseconds(node: Node) -> None:
    """Of null_blk a timer of the kernel sets how long each read takes."""
    node.start(f"( set -e; {NULL_BLK} )")
    make_flash(node, "/dev/nullb0")
    times = small_reads(node)
    assert times["oss1-even"]["p50"] > 5e-3
    assert 5e-3 < times["oss1-late"]["p50"] < LATE_S < times["oss1-late"]["p99.9"]
    remove_flash(node)
    null_blk = "/sys/kernel/config/nullb/nullb0"
    node.output(f"echo 0 > {null_blk}/power; rmdir {null_blk}; modprobe -r null_blk")


def test_io_max_of_a_cgroup_shows_in_the_raw_probe(node: Node) -> None:
    node.output(
        "cd /sys/fs/cgroup && echo +io > cgroup.subtree_control && mkdir slow"
        f" && echo $(lsblk -dno MAJ:MIN {BY_ID}5) rbps=10000000 > slow/io.max"
    )
    command = "plumbline probe raw --component oss1-disk5 --json"
    document = json.loads(node.run(f"echo $$ > /sys/fs/cgroup/slow/cgroup.procs; {command}").stdout)
    assert all(8e6 < record["rate"] < 12e6 for record in document["records"])


def test_a_failed_path_is_a_symptom_and_a_standby_path_is_not(node: Node) -> None:
    """scsi_debug has three paths to one disk: active, not optimised, and standby."""
    before = node.symptoms()
    (node.folder / "multipath.conf").write_text(MULTIPATH)
    node.output("cp /mnt/multipath.conf /etc/ && restorecon /etc/multipath.conf")
    debug = "modprobe scsi_debug vpd_use_hostno=0 add_host=3 dev_size_mb=64"
    node.start(f"modprobe scsi_dh_alua && {debug}")
    node.start("systemctl start multipathd && udevadm wait -t 60 /dev/mapper/oss1-lun")
    node.output("dd if=/dev/mapper/oss1-lun of=/dev/null bs=1M iflag=direct")
    paths = node.output("multipathd show paths raw format '%d %p %T'")
    assert [line.split()[1] for line in paths.splitlines()] == ["50", "10", "1"]
    assert node.symptoms() == before
    path = paths.split()[0]
    node.output(f"echo offline > /sys/block/{path}/device/state")
    node.wait("journalctl --dmesg | grep 'Failing path'")
    assert node.symptoms() - before == {
        Symptom("oss1-lun", "path_failed", "WARNING", "raises", f"kernel: failures of path {path}")
    }
    node.output(f"echo running > /sys/block/{path}/device/state")
    node.wait("journalctl --dmesg | grep 'Reinstating path'")
    node.output("systemctl stop multipathd; multipath -F && modprobe -r scsi_debug")


def test_a_disk_over_nvme_tcp_is_examined_and_its_errors_are_symptoms(node: Node) -> None:
    """Under SELinux only the process that connected may use it, whose label the socket has."""
    before = node.symptoms()
    node.output("setenforce 0")
    node.start(f"( set -e; {NVMET} )")
    looks = node.looks()
    assert looks["smart"]["examined"] == 7
    assert node.symptoms() == before
    assert all(
        record["rate"] for record in node.document("probe raw --component oss1-nvme")["records"]
    )
    node.output("setenforce 1")
    # SELinux refuses udev's first read of it
    node.start("udevadm trigger --settle /dev/nvme0n1")
    assert {symptom[:2] for symptom in node.symptoms() - before} == {("oss1-nvme", "io_error")}
    node.output("nvme disconnect -n plumbline")


def test_a_soft_rdma_link_raises_no_alarm(node: Node) -> None:
    before = node.symptoms()
    node.start("modprobe rdma_rxe && ip link add dummy0 type dummy && ip link set dummy0 up")
    node.output("rdma link add rxe0 type rxe netdev dummy0")
    assert node.looks()["infiniband"]["examined"] == 1
    assert node.symptoms() == before
    node.output("rdma link delete rxe0 && ip link delete dummy0")


def label(node: Node, folder: str = "") -> None:
    """Run the SELinux commands of the role agent, with the file from its template.

    ``folder`` is the one that gets its labels, the role's own by default.
    """
    role = ROOT / "roles/agent"
    names = document(role / "vars/main.yml")
    state, labels = names["agent_state"], names["__agent_labels"]
    text = (role / "templates/selinux.cil.j2").read_text()
    text = text.replace("{{ agent_state | regex_escape }}", state)
    (node.folder / "plumbline.cil").write_text(text)
    node.output(f"install -D -m 644 /mnt/plumbline.cil {labels}")
    for task in document(role / "tasks/labels.yml"):
        words = " ".join(task.get("ansible.builtin.command", {"argv": ["true"]})["argv"])
        words = words.replace("{{ __agent_labels }}", labels)
        node.output(words.replace("{{ agent_labelled }}", folder or state))


def test_nrpe_under_selinux_runs_a_check_of_labelled_files_and_cannot_write(node: Node) -> None:
    folder = node.folder / "nrpe"
    folder.mkdir()
    (folder / "nrpe.cfg").write_text(node.output("cat /etc/nagios/nrpe.cfg"))
    deploy(folder, 5666)
    signed = play(folder)
    assert signed.returncode == 0, signed.stdout + signed.stderr
    text = (folder / "plumbline.cfg").read_text()
    text = text.replace(f"{folder}/library", "/usr/lib/plumbline")
    (folder / "plumbline.cfg").write_text(text.replace(str(folder), "/etc/plumbline-tls"))
    node.run("plumbline probe raw --component oss1-disk1")
    node.output(f"set -e; {NRPE}")
    node.wait("journalctl -u nagios-nrpe-server | grep 'Listening for connections'")
    process = node.output("systemctl show -P MainPID nagios-nrpe-server").strip()
    assert ":nrpe_t:" in node.output(f"cat /proc/{process}/attr/current")
    check = f"{ASK} plumbline_raw_oss1-disk1"
    answer = node.run(check).stdout
    assert answer.startswith("RAW UNKNOWN - ")
    assert "label it for SELinux" in answer
    label(node)
    answer = node.run(check).stdout
    assert "oss1-disk1 read " in answer, answer
    assert "Permission denied" in node.run(f"{ASK} forge").stdout
    assert node.run("test -e /var/lib/plumbline/forged").code == 1
    # the permissions alone would allow it
    node.output("runuser -u nagios -- touch /var/lib/plumbline/forged")
    keys = node.output("matchpathcon -n /var/lib/plumbline/.ssh/authorized_keys")
    assert ":ssh_home_t:" in keys
    node.output("systemctl stop nagios-nrpe-server")


def test_sshd_under_selinux_accepts_a_key_with_its_label_alone(node: Node) -> None:
    home = "/var/lib/plumbline-export"
    node.output(
        f"set -e; useradd --system --home-dir {home} --shell /bin/sh plumbline-export;"
        f" mkdir -p {home}/.ssh; ssh-keygen -q -t ed25519 -N '' -f /root/key;"
        # install would give the label, once the rules are loaded
        f" cp /root/key.pub {home}/.ssh/authorized_keys;"
        " restorecon -R /etc/ssh; systemctl start ssh"
    )
    login = (
        "ssh -i /root/key -o BatchMode=yes -o StrictHostKeyChecking=no"
        " plumbline-export@127.0.0.1 echo in"
    )
    node.wait("ssh-keyscan 127.0.0.1 2>/dev/null | grep -q ed25519")
    assert "Permission denied (publickey" in node.run(login).stderr
    label(node, home)
    assert node.output(login) == "in\n"


AS_NAGIOS = "/usr/local/sbin/as-nagios"


def as_nagios(node: Node, command: str) -> str:
    """Run a command in the domain of Nagios and return its output, which the journal takes."""
    node.run(f"systemd-run --quiet --wait --unit=as-nagios --uid=nagios {AS_NAGIOS} {command}")
    text = node.output("journalctl --sync && journalctl -b -o cat _SYSTEMD_UNIT=as-nagios.service")
    node.output("journalctl --rotate --vacuum-time=1s; systemctl reset-failed")
    return text


def test_nagios_under_selinux_reads_suspects_and_removes_what_it_took(node: Node) -> None:
    state = "/var/lib/plumbline-console"
    verdicts = {"oss1": Verdict("path", "oss1", *FINE)}
    suspects = published_paths(verdicts, time.time(), 3600.0, NO_ALARMS)
    (node.folder / "paths.json").write_text(seal(compact(suspects)))
    (node.folder / "as-nagios").write_text(
        '#!/bin/sh\ncat /proc/self/attr/current\necho\nexec "$@"\n'
    )
    node.output(
        f"set -e; cp /mnt/as-nagios {AS_NAGIOS}; chmod 755 {AS_NAGIOS};"
        f" chcon -t nagios_exec_t {AS_NAGIOS}; mkdir -p {state}/spool;"
        f" cp /mnt/paths.json {state}/; touch {state}/spool/batch;"
        f" chgrp -R nagios {state}; chmod -R g+rwX {state}"
    )
    check = "/usr/bin/python3 -I /usr/lib/plumbline/checks/check_path --service oss1"
    answer = as_nagios(node, check)
    assert ":nagios_t:" in answer
    assert "label it for SELinux" in answer, answer
    as_nagios(node, f"rm {state}/spool/batch")
    assert node.run(f"test -e {state}/spool/batch").code == 0
    label(node, state)
    assert "PATH OK - oss1 is no suspect" in as_nagios(node, check)
    as_nagios(node, f"rm {state}/spool/batch")
    assert node.run(f"test -e {state}/spool/batch").code == 1
    as_nagios(node, f"touch {state}/forged")
    assert node.run(f"test -e {state}/forged").code == 1


ADDRESSES = {
    "MONITORING": "10.9.0.2",
    "PROMETHEUS": "10.9.0.3",
    "STORAGE_NETWORK": "10.8.0.0/24",
}
PORTS = (5666, 9100, 12865)
NETWORK = """
ip netns add outside
ip link add inside type veth peer name outside netns outside
ip address add 10.9.0.1/24 dev inside
ip address add 10.8.0.1/24 dev inside
ip link set inside up
ip -n outside link set outside up
for address in 10.9.0.2 10.9.0.3 10.9.0.4 10.8.0.2; do
    ip -n outside address add $address/24 dev outside
done
"""
SERVER = """
import socket, time
sockets = [socket.create_server(("0.0.0.0", port)) for port in {ports}]
time.sleep(600)
"""
CLIENT = """
import socket
for port in {ports}:
    try:
        socket.create_connection(("10.9.0.1", port), 2, ("{source}", 0)).close()
        print(port)
    except OSError:
        pass
"""


def reached(node: Node, source: str) -> set[int]:
    """Return the ports of the node that an address outside reaches."""
    text = CLIENT.format(ports=PORTS, source=source)
    (node.folder / "client.py").write_text(text)
    return set(map(int, node.output("ip netns exec outside python3 /mnt/client.py").split()))


def test_the_lines_for_firewalld_open_what_they_say(node: Node) -> None:
    page = (ROOT / "docs/roles.md").read_text()
    (lines,) = re.findall(r"\*\*firewalld\.\*\*.*?```\n(.*?)```", page, re.DOTALL)
    for word, address in ADDRESSES.items():
        assert word in lines
        lines = lines.replace(word, address)
    (node.folder / "server.py").write_text(SERVER.format(ports=PORTS))
    node.output(f"set -e; {NETWORK}")
    node.output("systemd-run --quiet --unit=ports python3 /mnt/server.py")
    node.wait("ss -ltn | grep -q :12865")
    assert reached(node, "10.9.0.4") == set(PORTS)
    # Debian's policy of SELinux does not let its firewalld start
    node.output("setenforce 0; systemctl start firewalld")
    node.wait("firewall-cmd --state")
    assert reached(node, "10.9.0.2") == set()
    node.output(f"set -e; {lines}")
    assert reached(node, "10.9.0.2") == {5666}
    assert reached(node, "10.9.0.3") == {9100}
    assert reached(node, "10.9.0.4") == set()
    assert reached(node, "10.8.0.2") == set(PORTS)
    node.output("systemctl stop firewalld ports; setenforce 1; ip netns delete outside")
