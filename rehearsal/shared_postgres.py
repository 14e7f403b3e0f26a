"""One PostgreSQL server for several processes: the first starts it, and it ends with the last one.

Each process that uses it holds a lock, which the system releases, also if the process is killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rehearsal.postgres_server import PostgresUnavailable, run_postgres

PROJECT = Path(__file__).parents[1]


@contextmanager
def share_postgres(home: Path, *options: str) -> Iterator[str]:
    """Use the server of the folder `home`, which is removed after the last use; yield its URL.

    Raises PostgresUnavailable.
    """
    with _joined(home) as users, (home / "starting").open("ab") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        place = home / "url"
        if not place.exists():
            place.write_text(_start_keeper(home, options), encoding="utf-8")
        fcntl.flock(starting, fcntl.LOCK_UN)
        yield place.read_text(encoding="utf-8")
        fcntl.flock(users, fcntl.LOCK_UN)


def _joined(home: Path) -> IO[bytes]:
    """Return the locked file of users; a keeper that ends a server meanwhile removes it."""
    while True:
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o755)  # the server may run as another user
        users = (home / "users").open("ab")
        fcntl.flock(users, fcntl.LOCK_SH)
        if os.fstat(users.fileno()).st_nlink:
            return users
        users.close()


def _start_keeper(home: Path, options: Sequence[str]) -> str:
    command = [sys.executable, "-m", "rehearsal.shared_postgres", str(home), *options]
    keeper = subprocess.Popen(
        command,
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert keeper.stdout
    with keeper.stdout as said:
        word, _, rest = said.readline().partition(" ")
    keeper.returncode = 0  # nobody waits for it: it outlives us, if others use its server
    if word != "ready":
        raise PostgresUnavailable(rest.strip() or "The keeper of PostgreSQL ended.")
    return rest.strip()


def keep(home: Path, options: Sequence[str]) -> None:
    """Run the server until nobody uses it, then remove the folder."""
    with (home / "users").open("ab") as users:
        try:
            with run_postgres(home / "server", *options) as url:
                print("ready", url, flush=True)
                fcntl.flock(users, fcntl.LOCK_EX)
        except PostgresUnavailable as error:
            print("failed", error, flush=True)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2:])
