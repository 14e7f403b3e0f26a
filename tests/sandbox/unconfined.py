"""The child without confinement, with a trusting host: probes succeed in it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from daemon.sandbox.environment import CellResult, encode, pack, unpack
from daemon.sandbox.session import ROOT, pipe_with_word
from tests.attention import PATIENCE

BOOT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from daemon.sandbox import child
child.confine = lambda memory, seconds: "nothing"
kept = dict(os.environ)
child.LIMIT = None
preload = child.preload_modules
def unconfined():
    preload()
    os.environ.update(kept)
child.preload_modules = unconfined
child.STACK = 0
child.main(sys.argv[2])
"""
OUTPUT = 2**40


class Unconfined:
    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._request = 0
        ours, theirs = socket.socketpair()
        self._wire = ours
        self._wire.settimeout(PATIENCE)
        with theirs, pipe_with_word("token") as standard_input:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-S", "-c", BOOT, str(ROOT), f"fd:{theirs.fileno()}"],
                stdin=standard_input,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        assert self._read() == {"token": "token"}
        self._send({"memory": 0, "seconds": 0, "output": OUTPUT})
        assert self._read() == {"ready": "nothing"}
        self._send({"functions": ["ping", "wait"]})
        self._ask("bind", pack(dict(names), repr))

    def execute_code(self, code: str) -> CellResult | None:
        """Run a cell; return None if the child died."""
        try:
            done = self._ask("execute", code)
        except (EOFError, ConnectionError):
            return None
        done["value"] = unpack(done["value"])
        return CellResult(**done)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._wire.close()

    def _ask(self, what: str, content: Any) -> dict[str, Any]:
        """Answer calls until the result; ignore other frames."""
        self._request += 1
        self._send({"id": self._request, what: content})
        while True:
            frame = self._read()
            if frame.get("done") == self._request:
                del frame["done"]
                return frame
            if "call" in frame and "id" in frame:
                if frame["call"] == "wait":
                    time.sleep(*frame["args"])
                self._send({"id": frame["id"], "answer": None})

    def _send(self, frame: dict[str, Any]) -> None:
        self._wire.sendall(encode(frame))

    def _read(self) -> dict[str, Any]:
        body = self._exactly(int.from_bytes(self._exactly(4), "big"))
        try:
            frame = json.loads(body)
        except (ValueError, RecursionError):
            return {}
        return frame if isinstance(frame, dict) else {}

    def _exactly(self, size: int) -> bytes:
        body = bytearray()
        while len(body) < size:
            part = self._wire.recv(min(size - len(body), 2**20))
            if not part:
                raise EOFError
            body += part
        return bytes(body)
