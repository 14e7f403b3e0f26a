"""Program of a child process: confine itself, then run cells for its host.

The address is an inherited socket (`fd:7`) or `tcp:127.0.0.1:9000`; the token is the first line of stdin.
Only the standard library and modules of this folder are imported.
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
"""Most variables that the result of a cell names."""


OURS = f"{Path(__file__).parent}{os.sep}"
"""Beginning of the paths of our files, which tracebacks leave out."""


class CellOutput(io.TextIOBase):
    """Output stream that keeps the first `limit` characters and counts the rest."""

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
        return with_omitted_count("".join(self._parts), self._left_out)


def truncate_output(text: str, limit: int) -> str:
    return with_omitted_count(text[:limit], len(text) - limit)


def with_omitted_count(text: str, left_out: int) -> str:
    if left_out <= 0:
        return text
    return f"{text}\n[{left_out:,} more characters]\n"


class CellLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._stirred = threading.Event()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        self._stirred.wait(timeout)
        self._stirred.clear()
        return []

    def _process_events(self, _: list[Any]) -> None: ...

    def _write_to_self(self) -> None:
        self._stirred.set()


class CellPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return CellLoop()


class ErrorCapture:
    error: BaseException | None = None

    def __enter__(self) -> ErrorCapture:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


class CellRunner:
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
        """Set variables that do not count as assigned by a cell."""
        self._names.update(names)
        self._given.update(names)

    def execute(self, code: str) -> dict[str, Any]:
        """Run a cell; return stdout, stderr, value, error and variables, ready to be sent."""
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
        with ErrorCapture():
            return truncate_output(repr(value), self._output)
        return f"<{type(value).__name__}>"

    def _variables(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in [*self._names.items()]:
            given = name in self._given and self._given[name] is value
            hidden = not isinstance(name, str) or name.startswith("__") or isinstance(value, types.ModuleType)
            if not given and not hidden and len(found) < NAMES:
                found[name] = type(value).__name__
        return found


@contextlib.contextmanager
def redirect_output(stdout: CellOutput, stderr: CellOutput) -> Iterator[None]:
    """Redirect output inside the block; text that threads print later is dropped."""
    sys.stdout, sys.stderr = stdout, stderr
    yield
    sys.stdout = sys.stderr = CellOutput(0)


def format_traceback(error: BaseException) -> str:
    """Format a traceback without frames of the sandbox; only the error's type if formatting fails."""
    with ErrorCapture():
        shown = traceback.TracebackException.from_exception(error)
        _prune(shown)
        return "".join(shown.format())
    return f"{type(error).__name__}\n"


def _prune(shown: traceback.TracebackException) -> None:
    kept = [
        frame
        for frame in shown.stack
        if not frame.filename.startswith(OURS) and frame.filename != ast.__file__
    ]
    library = f"{Path(ast.__file__).parent}{os.sep}"
    for frame in kept:
        frame.filename = frame.filename.removeprefix(library)  # otherwise the path of Python is shown
    shown.stack = traceback.StackSummary.from_list(kept)
    if not kept:
        shown.stack = None  # type: ignore[assignment]  # then CPython writes no heading
    groups = getattr(shown, "exceptions", None) or ()
    for other in (shown.__cause__, shown.__context__, *groups):
        if other is not None:
            _prune(other)


STACK = 2 * 2**20
"""Stack of a thread in bytes, which count as memory."""


CONNECT = 30.0
"""Most seconds until a connection to the host is made."""


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
"""Modules that cells may import, loaded early: a confined process can read no file."""


class HostSocket:
    """Socket to the host; a caller of its methods must hold a lock."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, frame: dict[str, Any]) -> None:
        self._connection.sendall(encode(frame, LIMIT))

    def receive(self) -> dict[str, Any]:
        """Return the next frame; end the process if the host hung up."""
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
    """Thread-safe access to the host: several threads may call at once; one reads for all."""

    def __init__(self, channel: HostSocket) -> None:
        self._channel = channel
        self._changed = threading.Condition()
        self._running = 0
        """Number of the running cell; 0 if none runs."""
        self._last_call = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._requests: list[dict[str, Any]] = []
        self._is_read = False

    def function(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        call.__name__ = call.__qualname__ = name
        return call

    def next_request(self) -> dict[str, Any]:
        with self._changed:
            while not self._requests:
                self._read_or_wait()
            request = self._requests.pop(0)
            self._running = request["id"]
            return request

    def finish(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        """Send the result of a cell; calls still without an answer raise RuntimeError."""
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
        if self._is_read:
            self._changed.wait()
            return
        self._is_read = True
        self._changed.release()
        try:
            frame = self._channel.receive()
        except MemoryError:
            os._exit(1)  # part of a frame was read, so later frames are unreadable
        finally:
            self._changed.acquire()
            self._is_read = False
        if "execute" in frame or "bind" in frame:
            self._requests.append(frame)
        else:
            self._answers[frame["id"]] = frame
        self._changed.notify_all()


def main(address: str) -> None:
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
    return {"stdout": "", "stderr": "", "value": None, "error": error, "variables": {}}


def connect_to_host(address: str) -> socket.socket:
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
    """Import the modules for cells; then clear the environment and the arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PRELOADED.split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.stack_size(STACK)
    os.environ.clear()
    sys.argv = [""]
