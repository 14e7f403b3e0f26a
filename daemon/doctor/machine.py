"""What the daemon needs of this machine: Python, room for its journal, a whole journal, its port."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

from daemon.console.token_file import read_token
from daemon.doctor.finding import Finding, ill_finding, well_finding
from daemon.engine.exceptions import JournalDamaged, JournalError, JournalVersionError
from daemon.engine.lock import lock_holder
from daemon.engine.opening import RESTORE
from daemon.engine.reading import open_reader
from daemon.errors import ConfigError
from daemon.kinds import SOUL_KINDS
from daemon.private import TOKEN, is_readable_by_others, journal_files
from daemon.rules import verify_journal
from daemon.server import bind, url_of

PYTHON = (3, 11)
SCARCE = 200_000_000
"""Bytes that must be free: with less, a busy day may fill the disk."""
LONG = 100_000
"""Entries; a longer journal is not looked through by the doctor."""
PATIENCE = ClientTimeout(total=5)
ENV = Path(".env")


def examine_python(version: Sequence[int]) -> Finding:
    """The Python that runs this."""
    said = ".".join(map(str, version[:3]))
    if tuple(version[:2]) < PYTHON:
        return ill_finding(
            "python", f"{said} is too old. Install Python 3.11 or newer: make PYTHON=python3.11 install"
        )
    return well_finding("python", said)


def examine_disk(home: Path, scarce: int = SCARCE) -> Finding:
    """The folder that the journal lives in, or will."""
    there = home
    while not there.exists():
        there = there.absolute().parent
    if not os.access(there, os.W_OK | os.X_OK):
        return ill_finding(
            "disk", f"{there} cannot be written. Make it this user's, or set SOUL_HOME to a folder that is"
        )
    free = shutil.disk_usage(there).free
    said = f"{free / 1e9:.1f} GB free at {home}"
    if free <= scarce:
        return ill_finding("disk", f"{said}. Make room: it needs 0.2 GB")
    return well_finding("disk", said)


def examine_file_modes(home: Path, env: Path = ENV) -> Finding:
    """What holds private thoughts, and what holds tokens: nobody else can read it."""
    shown = [str(path) for path in (home, *journal_files(home), env) if is_readable_by_others(path)]
    if not shown:
        return well_finding("modes", f"nobody else can read {home} or {env}")
    fix = f"chmod go= {shlex.join(shown)}"
    if str(home) in shown:
        fix = f"{fix}; or give SOUL_HOME a folder of its own"
    return ill_finding("modes", f"others may look into {', '.join(shown)}. {fix}")


def examine_page_access(home: Path, token: str) -> Finding:
    """What opens the page: CONSOLE_TOKEN, which is this `token`, or the one that the first start makes."""
    how = "`python -m daemon link` prints a link that opens it in a browser"
    if token:
        return well_finding("page", f"CONSOLE_TOKEN is its token; {how}")
    try:
        if not read_token(home):
            return well_finding("page", f"no token yet; the first start makes {home / TOKEN}")
    except ConfigError as error:
        return ill_finding("page", str(error).rstrip("."))
    return well_finding("page", f"its token is in {home / TOKEN}; {how}")


def examine_journal(path: Path) -> Finding:
    """The journal: it can be read, and keeps its own rules. A daemon may live on it."""
    try:
        if not path.exists():
            return well_finding("journal", f"none yet; the first start makes {path}")
        with open_reader(path, SOUL_KINDS) as found:
            if found.last_seq_of_all() > LONG:
                found.check_pages()
                said = (
                    f"{path}: {found.last_seq_of_all()} entries; `python -m daemon verify` looks at them all"
                )
                return well_finding("journal", said)
            verdict = verify_journal(found)
    except (JournalDamaged, JournalVersionError) as error:
        return ill_finding("journal", str(error).rstrip("."))
    except JournalError as error:
        return ill_finding("journal", f"{error} {RESTORE.capitalize()}")
    except OSError as error:
        return ill_finding(
            "journal", f"{path} is closed to this user ({error.strerror}): ask as the one who runs the daemon"
        )
    if verdict.violations:
        said = (
            f"{path}: {verdict.violations[0]}. `python -m daemon verify` lists all {len(verdict.violations)}"
        )
        return ill_finding("journal", f"{said}. {RESTORE.capitalize()}")
    said = f"{path}: {verdict}"
    pid = lock_holder(path)
    if pid:
        said = f"{said}; held by process {pid}"
    return well_finding("journal", said)


async def examine_port(host: str, number: int, path: Path) -> Finding:
    """The port: free, or held by the daemon that lives on this journal."""
    if not number:
        return well_finding("port", "any that is free")
    try:
        bind(host, number).close()
    except ConfigError as error:
        health = None
        if lock_holder(path):
            health = await _health(host, number)
        if health is None:
            return ill_finding("port", str(error))
        return _lock_finding(f"{number} is held by this daemon, which", health)
    return well_finding("port", f"{number} on {host} is free")


def _lock_finding(held: str, health: Mapping[str, Any]) -> Finding:
    if health.get("restart", not health["ok"]):
        return ill_finding("port", f"{held} is not well: {health}. Look at its log")
    wrong = health.get("wrong")
    if wrong:
        return ill_finding("port", f"{held} lives, but: {' '.join(wrong)}")
    return well_finding("port", f"{held} lives and is well")


async def _health(host: str, number: int) -> dict[str, Any] | None:
    """What a daemon that listens there says of itself; None where none does."""
    url = f"{url_of(host, number)}/healthz"
    try:
        async with ClientSession(timeout=PATIENCE) as session, session.get(url) as response:
            said = await response.json()
    except (ClientError, TimeoutError, ValueError, RecursionError):
        return None
    if isinstance(said, dict) and said.keys() >= {"ok", "seq"}:
        return said
    return None
