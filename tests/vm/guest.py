#!/usr/bin/python3 -I
"""Run the commands of the tests in the virtual machine; a JSON line for each, and its result."""

import json
import subprocess

with open("/dev/virtio-ports/plumbline", "r+b", buffering=0) as port:
    port.write(b"ready\n")
    for line in port:
        completed = subprocess.run(
            ["/bin/bash", "-c", json.loads(line)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        result = [completed.returncode, completed.stdout, completed.stderr]
        data = json.dumps(result).encode() + b"\n"
        # a port takes 32 KiB at once
        while data:
            data = data[port.write(data) :]
