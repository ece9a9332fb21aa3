"""The engine and worker processes: they have the real ones' titles, write their own log lines and hold GPU memory.

A child is an interpreter whose whole argv is its title and whose program comes on standard input, so that `ps` and
/proc show exactly `VLLM::EngineCore`. Orders come as JSON lines on a pipe; when that ends without one, since the API
server was killed, it lives on and keeps its memory, as the real one does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

CARDS = "/var/lib/fakegpu"

PROGRAM = """
import ctypes, json, mmap, os, signal, sys, time
ctypes.CDLL(None).prctl(15, TITLE.encode()[:15], 0, 0, 0)          # PR_SET_NAME: 15 bytes, as the kernel cuts it
if STUBBORN:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def hold(gpu, size):                                                # atomic: a reader sees the old or the new value
    path = f"{CARDS}/{gpu}/procs/{os.getpid()}"
    try:
        with open(path + ".new", "w") as file:
            file.write(str(size))
        os.rename(path + ".new", path)
    except OSError:
        pass                                                        # a host without a GPU

kept = []

def share(count, reads):                                            # ring buffers and semaphores; staged weights
    for number in range(count):
        for name in (f"psm_{os.getpid():x}{number}", f"sem.mp-{os.getpid():x}{number}"):
            fd = os.open("/dev/shm/" + name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            os.ftruncate(fd, 65536)
            kept.append(mmap.mmap(fd, 65536))
            os.close(fd)
    if reads:
        fd = os.open(reads, os.O_RDONLY)
        kept.append(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
        os.close(fd)

for line in os.fdopen(ORDERS, "rb"):
    order = json.loads(line)
    if "share" in order:
        share(*order["share"])
    if "out" in order:
        os.write(1, order["out"].encode())
    if "err" in order:
        os.write(2, order["err"].encode())
    for gpu, size in order.get("hold", ()):
        hold(gpu, size)
    for _ in range(order.get("reads", 0)):                            # MiB that storage has to give, if not from cache
        with open("/dev/zero", "rb", 0) as file:
            file.read(2**20)
    end = time.process_time() + order.get("burn_s", 0)                # by the CPU's time: a busy machine gives it late
    while time.process_time() < end:
        pass
    if "exit" in order:
        os._exit(order["exit"])
    if order.get("ask"):
        os.write(ANSWERS, b".")
signal.pause()
"""


class Child:
    """One of the processes below the API server."""

    def __init__(self, title: str, *, stubborn: bool = False) -> None:
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self.title = title
        self.process = subprocess.Popen(
            [title], executable=sys.executable, stdin=subprocess.PIPE, pass_fds=(orders, answers)
        )
        os.close(orders)
        os.close(answers)
        names = {"TITLE": title, "STUBBORN": stubborn, "ORDERS": orders, "ANSWERS": answers, "CARDS": CARDS}
        program = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + PROGRAM
        assert self.process.stdin
        self.process.stdin.write(program.encode())
        self.process.stdin.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def order(self, **order: Any) -> None:
        """Tell it what to do; a child that is gone does not matter here."""
        try:
            os.write(self._orders, json.dumps(order).encode() + b"\n")
        except BrokenPipeError:
            pass

    def do(self, **order: Any) -> None:
        """Tell it what to do and wait until it has done it, so that lines of several processes keep their order."""
        self.order(**order, ask=True)
        os.read(self._answers, 1)

    def write(self, text: str, *, stderr: bool = False) -> None:
        """Let it write to the log itself: journald keeps the pid of each writer."""
        self.do(**{"err" if stderr else "out": text})

    def hold(self, gpus: Sequence[int], size: int) -> None:
        """Let it hold that many bytes of each GPU."""
        self.do(hold=[(gpu, size) for gpu in gpus])

    def share(self, count: int, reads: str) -> None:
        """Let it map so many new entries of /dev/shm, and a file for reading."""
        self.do(share=[count, reads])

    def end(self, status: int = 0) -> None:
        """Let it exit and wait for that."""
        self.order(exit=status)
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
