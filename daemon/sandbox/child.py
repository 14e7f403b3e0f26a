"""The program of a child: it confines itself, then runs cells for whoever has started it.

Its address is an inherited socket (`fd:7`) or a place to connect to (`tcp:127.0.0.1:9000`); its token is the
first line of its standard input. It imports nothing but the standard library and its neighbours.

Cells in a child: one namespace for all of them, what each prints, its value, its traceback.

Imports nothing but the standard library and its neighbour.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib
import inspect
import io
import linecache
import os
import random
import signal
import socket
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from daemon.sandbox.confinement import UnconfinedError, confine, die_with_parent
from daemon.sandbox.environment import HEADER, LIMIT, FrameError, decode, encode, pack, unpack

NAMES = 1_000
"""Most variables that are told of."""


OURS = f"{Path(__file__).parent}{os.sep}"
"""Where frames of a traceback stand that no cell has written."""


class CellOutput(io.TextIOBase):
    """What is printed: the first `limit` characters, and how many more there were."""

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._parts: list[str] = []
        self._left_out = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        kept = text[: self._room]
        if kept:
            self._parts.append(kept)
            self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        return len(text)

    def text(self) -> str:
        """All that was kept, with a last line of what was not."""
        return with_omitted_count("".join(self._parts), self._left_out)


def truncate_output(text: str, limit: int) -> str:
    """The first characters of a text, with the count of those left out."""
    return with_omitted_count(text[:limit], len(text) - limit)


def with_omitted_count(text: str, left_out: int) -> str:
    """The text, with a last line that says how many characters were left out, if any."""
    if left_out <= 0:
        return text
    return f"{text}\n[{left_out:,} more characters]\n"


class CellLoop(asyncio.BaseEventLoop):
    """An event loop that needs no descriptor: it waits for times and for threads, there is nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._stirred = threading.Event()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        """What a selector does, without files to look at."""
        self._stirred.wait(timeout)
        self._stirred.clear()
        return []

    def _process_events(self, _: list[Any]) -> None: ...

    def _write_to_self(self) -> None:
        self._stirred.set()


class CellPolicy(asyncio.DefaultEventLoopPolicy):
    """`asyncio.run` in a cell, too, makes such a loop."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return CellLoop()


class ErrorCapture:
    """Keeps whatever is raised in its block: what a cell raises is a result."""

    error: BaseException | None = None

    def __enter__(self) -> ErrorCapture:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


class CellRunner:
    """Runs one cell after the other in the same namespace."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._count = 0
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self._names = module.__dict__
        self._given: dict[str, Any] = {}
        asyncio.set_event_loop_policy(CellPolicy())
        self._loop = CellLoop()
        sys.stdin = io.StringIO()
        sys.stdout = sys.stderr = CellOutput(0)

    def bind(self, names: Mapping[str, Any]) -> None:
        """These are variables from now on, and none that a cell has assigned."""
        self._names.update(names)
        self._given.update(names)

    def execute(self, code: str) -> dict[str, Any]:
        """Run this cell; returns stdout, stderr, value, error and variables, ready to be sent."""
        self._count += 1
        file = f"<cell {self._count}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        random.seed(code)
        stdout, stderr = CellOutput(self._output), CellOutput(self._output)
        value, error = None, ""
        with redirect_output(stdout, stderr):
            with ErrorCapture() as caught:
                value = self._run(code, file)
            if caught.error is not None:
                error = truncate_output(format_traceback(caught.error), self._output)
            value = self._packed(value)
        return {
            "stdout": stdout.text(),
            "stderr": stderr.text(),
            "value": value,
            "error": error,
            "variables": self._variables(),
        }

    def _run(self, code: str, file: str) -> Any:
        """Run it all, and return the value of its last expression."""
        tree = ast.parse(code, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._evaluate(tree, file, "exec")
        if isinstance(last, ast.Expr):
            return self._evaluate(ast.Expression(last.value), file, "eval")
        return None

    def _evaluate(self, tree: ast.Module | ast.Expression, file: str, mode: str) -> Any:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compiled = compile(tree, file, mode, flags, dont_inherit=True)
        result = eval(compiled, self._names)
        if compiled.co_flags & inspect.CO_COROUTINE:
            return self._loop.run_until_complete(result)
        return result

    def _packed(self, value: Any) -> Any:
        with ErrorCapture():
            return pack(value, self._plain)
        return self._plain(value)

    def _plain(self, value: Any) -> str:
        """Its repr; its type where it has none."""
        with ErrorCapture():
            return truncate_output(repr(value), self._output)
        return f"<{type(value).__name__}>"

    def _variables(self) -> dict[str, str]:
        """The names that cells have assigned, each with its type; modules are none."""
        found: dict[str, str] = {}
        for name, value in [*self._names.items()]:
            given = name in self._given and self._given[name] is value
            hidden = not isinstance(name, str) or name.startswith("__") or isinstance(value, types.ModuleType)
            if not given and not hidden and len(found) < NAMES:
                found[name] = type(value).__name__
        return found


@contextlib.contextmanager
def redirect_output(stdout: CellOutput, stderr: CellOutput) -> Iterator[None]:
    """What is printed goes there; afterwards what threads still print goes nowhere."""
    sys.stdout, sys.stderr = stdout, stderr
    yield
    sys.stdout = sys.stderr = CellOutput(0)


def format_traceback(error: BaseException) -> str:
    """A traceback as CPython writes it, without frames of ours; the bare type where that is impossible."""
    with ErrorCapture():
        shown = traceback.TracebackException.from_exception(error)
        _prune(shown)
        return "".join(shown.format())
    return f"{type(error).__name__}\n"


def _prune(shown: traceback.TracebackException) -> None:
    """Leave out the frames of ours, here and in what it came from."""
    kept = [
        frame
        for frame in shown.stack
        if not frame.filename.startswith(OURS) and frame.filename != ast.__file__
    ]
    library = f"{Path(ast.__file__).parent}{os.sep}"
    for frame in kept:
        frame.filename = frame.filename.removeprefix(library)  # it tells where the machine has its Python
    shown.stack = traceback.StackSummary.from_list(kept)
    if not kept:
        shown.stack = None  # type: ignore[assignment]  # then CPython writes no heading
    groups = getattr(shown, "exceptions", None) or ()
    for other in (shown.__cause__, shown.__context__, *groups):
        if other is not None:
            _prune(other)


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
