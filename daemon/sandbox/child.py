"""The program of a child: it confines itself, then runs cells for whoever has started it.

Its address is an inherited socket (`fd:7`) or a place to connect to (`tcp:127.0.0.1:9000`); its token is the
first line of its standard input. It imports nothing but the standard library and its neighbours.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from daemon.sandbox.cells import CellRunner, ErrorCapture
from daemon.sandbox.confinement import UnconfinedError, confine, die_with_parent
from daemon.sandbox.frames import HEADER, LIMIT, FrameError, decode, encode, pack, unpack

STACK = 2 * 2**20
"""Bytes of a thread's stack: they count as memory."""
CONNECT = 30.0
PRELOADED = """
abc argparse array ast asyncio asyncio.runners asyncio.taskgroups asyncio.threads asyncio.timeouts base64
binascii bisect calendar cmath codecs collections.abc colorsys concurrent.futures.thread configparser
contextlib contextvars copy copyreg csv dataclasses datetime _strptime decimal difflib dis email.message
email.parser email.policy encodings.ascii encodings.cp1250 encodings.cp1252 encodings.cp437 encodings.idna
encodings.iso8859_1 encodings.iso8859_15 encodings.latin_1 encodings.punycode encodings.utf_16
encodings.utf_16_be encodings.utf_16_le encodings.utf_32 encodings.utf_8_sig enum fnmatch fractions functools
gc getpass glob graphlib gzip bz2 hashlib heapq hmac html html.entities html.parser inspect io ipaddress
itertools json keyword linecache locale logging lzma math mimetypes numbers operator os pathlib pickle
platform pprint queue quopri random re reprlib sched secrets shlex shutil statistics string stringprep struct
tempfile textwrap threading time timeit token tokenize tomllib traceback types typing unicodedata
urllib.parse uuid warnings weakref xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils zlib zoneinfo
"""
"""Modules that cells may import: from no other can anything be read afterwards."""


class HostSocket:
    """The socket to the host. Whoever sends holds a lock of its own."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, frame: dict[str, Any]) -> None:
        """Send it whole; raises FrameError where the host would not take it."""
        self._connection.sendall(encode(frame, LIMIT))

    def receive(self) -> dict[str, Any]:
        """The next frame; where the host has hung up there is nothing more to live for."""
        size = int.from_bytes(self._read(HEADER), "big")
        return decode(self._read(size))

    def _read(self, size: int) -> bytearray:
        body = bytearray(size)
        view = memoryview(body)
        while view:
            count = self._connection.recv_into(view)
            if not count:
                os._exit(0)
            view = view[count:]
        return body


class HostProxy:
    """What the child asks of its host: several threads may ask at once; one of them reads for all."""

    def __init__(self, channel: HostSocket) -> None:
        self._channel = channel
        self._changed = threading.Condition()
        self._running = 0
        """The number of the cell that runs; 0: none."""
        self._last_call = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._requests: list[dict[str, Any]] = []
        self._is_read = False

    def function(self, name: str) -> Callable[..., Any]:
        """The host's function of this name, as a plain function."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        call.__name__ = call.__qualname__ = name
        return call

    def next_request(self) -> dict[str, Any]:
        """Wait for what the host wants next; from now on functions can be called."""
        with self._changed:
            while not self._requests:
                self._read_or_wait()
            request = self._requests.pop(0)
            self._running = request["id"]
            return request

    def finish(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        """Tell what came of the request. Threads that still wait for an answer get none."""
        with self._changed:
            self._running = 0
            self._answers.clear()
            self._changed.notify_all()
            self._channel.send({"done": request["id"], **result})

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        packed = [pack(value, repr) for value in args]
        named = {key: pack(value, repr) for key, value in kwargs.items()}
        with self._changed:
            running = self._running
            if not running:
                raise RuntimeError(f"{name} cannot be called when no cell runs")
            self._last_call += 1
            number = self._last_call
            try:
                self._channel.send({"call": name, "id": number, "args": packed, "kwargs": named})
            except FrameError as error:
                raise ValueError(f"{name}: {error}") from None
            while number not in self._answers:
                if self._running != running:
                    raise RuntimeError(f"{name} was not answered: the cell that called it has ended")
                self._read_or_wait()
            answer = self._answers.pop(number)
        if "error" in answer:
            kind = TypeError if answer["kind"] == "TypeError" else RuntimeError
            raise kind(answer["error"])
        return unpack(answer["answer"])

    def _read_or_wait(self) -> None:
        """Read one frame for all, or wait until the thread that reads has got one. Holds the lock around."""
        if self._is_read:
            self._changed.wait()
            return
        self._is_read = True
        self._changed.release()
        try:
            frame = self._channel.receive()
        except MemoryError:
            os._exit(1)  # half a frame is read: nothing after it would be understood
        finally:
            self._changed.acquire()
            self._is_read = False
        if "execute" in frame or "bind" in frame:
            self._requests.append(frame)
        else:
            self._answers[frame["id"]] = frame
        self._changed.notify_all()


def main(address: str) -> None:
    """Run cells until the host hangs up."""
    token = sys.stdin.readline().strip()
    channel = HostSocket(connect_to_host(address))
    preload_modules()
    channel.send({"token": token})
    opening = channel.receive()
    try:
        confined = confine(opening["memory"], opening["seconds"])
    except UnconfinedError as error:
        channel.send({"refused": str(error)})
        return
    host = HostProxy(channel)
    cells = CellRunner(opening["output"])
    channel.send({"ready": confined})
    cells.bind({name: host.function(name) for name in channel.receive()["functions"]})
    while True:
        serve_request(host, cells)


def serve_request(host: HostProxy, cells: CellRunner) -> None:
    """Do what the host wants next, and tell what came of it."""
    request = host.next_request()
    result = failed_result("")
    with ErrorCapture() as caught:
        if "bind" in request:
            cells.bind(unpack(request["bind"]))
        else:
            result = cells.execute(request["execute"])
    if caught.error is not None:
        result = failed_result(type(caught.error).__name__)
        caught.error = None
    try:
        host.finish(request, result)
    except (FrameError, MemoryError) as error:
        result = failed_result(f"What the cell leaves cannot be sent: {error or 'MemoryError'}")
        host.finish(request, result)


def failed_result(error: str) -> dict[str, Any]:
    """The result of a cell of which no more can be told than this."""
    return {"stdout": "", "stderr": "", "value": None, "error": error, "variables": {}}


def connect_to_host(address: str) -> socket.socket:
    """The socket to the host."""
    kind, _, place = address.partition(":")
    if kind == "fd":
        die_with_parent()
        return socket.socket(fileno=int(place))
    host, _, port = place.rpartition(":")
    connection = socket.create_connection((host, int(port)), CONNECT)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def preload_modules() -> None:
    """Import what cells may need, and leave nothing of the host's in reach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PRELOADED.split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.stack_size(STACK)
    os.environ.clear()
    sys.argv = [""]
