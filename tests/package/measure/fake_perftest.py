"""Two ends of perftest without RDMA: they meet by TCP, as the real ones do, and print a report.

With FAKE_HANGS a client says that it has begun and waits; with FAKE_DIES a server ends in the
middle; with FAKE_DOWN a port is down.
"""

import os
import socket
import sys
import time
from pathlib import Path

NAMES = {"ib_write_bw": "write", "ib_read_bw": "read", "ib_read_lat": "latency"}


def meet(partner: socket.socket, word: bytes) -> None:
    """Exchange a word with the other end; end like perftest if it is gone."""
    try:
        partner.sendall(word)
        answered = partner.recv(len(word))
    except ConnectionError:
        answered = b""
    if not answered:
        sys.exit(" Failed to exchange data between server and clients")


def main() -> None:
    """Wait for a client, or meet the server that is named last."""
    program, words = Path(sys.argv[0]).name, sys.argv[1:]
    if "--version" in words:
        print("Version: 6.24")
        return
    if "FAKE_DOWN" in os.environ:
        sys.exit(" Port number 1 state is Down")
    port = int(words[words.index("-p") + 1])
    if words[-1].count(".") == 3:
        try:
            partner = socket.create_connection((words[-1], port))
        except OSError:
            sys.exit(f"Couldn't connect to {words[-1]}:{port}")
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", port))
        listener.listen(1)
        partner, _ = listener.accept()
        listener.close()
        if "FAKE_DIES" in os.environ:
            time.sleep(0.1)
            os._exit(9)
    meet(partner, b"hello")
    if "FAKE_HANGS" in os.environ:
        print("connected", file=sys.stderr, flush=True)
        time.sleep(60)
    meet(partner, b"done!")
    report = f"{os.environ['FAKE_PERFTEST']}/{NAMES[program]}-6.24.txt"
    print(Path(report).read_text(), end="")


if __name__ == "__main__":
    main()
