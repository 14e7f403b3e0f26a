"""Targets of probes: files, listeners, a process; and traces of contact."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.machine import folder
from tests.sandbox.probes import MARK, VARIABLE

FOREVER = 1_000_000
CALLS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    place: Path
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    helper: subprocess.Popen[bytes]

    def names(self, times: int) -> dict[str, Any]:
        return {
            "mark": MARK,
            "secret": str(self.place / "secret"),
            "folder": str(self.place),
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "unix": self.unix.getsockname(),
            "pid": self.helper.pid,
            "most": CALLS,
            "times": times,
        }

    def state(self) -> dict[str, Any]:
        """Return the state that any contact would change."""
        files = {
            path.name: path.stat().st_mode if path.is_socket() else path.read_bytes()
            for path in self.place.iterdir()
        }
        return {"files": files, "called": [*filter(was_called, self.sockets())], "left": self.helper.poll()}

    def sockets(self) -> list[socket.socket]:
        return [self.tcp, self.udp, self.unix]


def was_called(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(10)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@contextmanager
def surroundings() -> Iterator[Surroundings]:
    with ExitStack() as stack:
        place = stack.enter_context(folder("probes"))
        for name in ("secret", "spare", "movable", "long"):
            (place / name).write_text(MARK, encoding="ascii")
        (place / "planted.py").write_text(f"MARK = {MARK!r}\n", encoding="ascii")
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=20))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(place / "unix"))
        unix.listen(20)
        for listener in (tcp, udp, unix):
            listener.setblocking(False)
        os.environ[VARIABLE] = MARK
        stack.callback(os.environ.pop, VARIABLE, None)
        helper = subprocess.Popen(
            [sys.executable, "-S", "-c", "input()", MARK],
            stdin=subprocess.PIPE,
        )
        stack.enter_context(helper)
        stack.callback(helper.kill)
        yield Surroundings(place=place, tcp=tcp, udp=udp, unix=unix, helper=helper)
