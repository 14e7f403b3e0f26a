"""CLI commands of the daemon; see `python -m daemon --help`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import math
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, TextIO

import daemon
from config import Settings, is_set, load, misspelt, taken_for_false, unreadable_lines
from daemon.engine.exceptions import (
    CopyAhead,
    CountedAsDead,
    JournalError,
    JournalLocked,
    JournalMisplaced,
    JournalVersionError,
)
from daemon.errors import escaped_lines, never_fail
from daemon.settings.database_url import read_database_url
from daemon.settings.home import LOAD_ERRORS, set_private_umask, unloadable_reason
from daemon.settings.parse import ConfigError
from daemon.telemetry.log import begin_log

if TYPE_CHECKING:
    from daemon.app.wiring import RehearsalMount
    from daemon.engine.journal.reader import JournalReader

log = logging.getLogger(__name__)

Command = Callable[[argparse.Namespace], int]
Add = Callable[[str, Command, str], argparse.ArgumentParser]

MISCONFIGURED = 78
"""EX_CONFIG of sysexits.h: the owner has to change something."""
UNWRITABLE = 74
"""EX_IOERR of sysexits.h: the journal failed; a restart may help."""
COUNTED_AS_DEAD = 75
"""EX_TEMPFAIL of sysexits.h: other daemons do this one's work; a restart joins them again."""
INTERRUPTED = 128 + signal.SIGINT
"""Exit status after Ctrl-C, as shells report it."""
UNREAD = 128 + signal.SIGPIPE
"""Exit status after a broken pipe, as shells report it."""


def main() -> int:
    set_private_umask()
    for stream in (sys.stdout, sys.stderr):
        never_fail(stream)
    asked = commands().parse_args()
    begin_log("warning", "text")
    try:
        status: int = asked.command(asked)
        print(end="", flush=True)  # raises a broken pipe here, not at exit
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes stdout at exit
        return UNREAD
    except (ConfigError, CopyAhead, JournalMisplaced) as error:
        print(escaped_lines(str(error)), file=sys.stderr)
        return MISCONFIGURED
    except (JournalLocked, JournalVersionError) as error:
        print(escaped_lines(f"{error} SOUL_HOME names its folder."), file=sys.stderr)
        return MISCONFIGURED
    except CountedAsDead as error:
        print(escaped_lines(str(error)), file=sys.stderr)
        return COUNTED_AS_DEAD
    except JournalError as error:
        print(escaped_lines(str(error)), file=sys.stderr)
        return UNWRITABLE
    return status


def commands() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m daemon", description="A soul for a Slack workspace.")
    parser.set_defaults(command=_run)
    parser.add_argument(
        "--version", action="store_const", dest="command", const=_version, help="print the version, and exit"
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=text, description=f"{name}: {text}.")
        added.set_defaults(command=command)
        return added

    _add_soul_commands(add)
    _add_journal_commands(add)
    return parser


def _add_soul_commands(add: Add) -> None:
    add("run", _run, "the daemon (the default)")
    add("rehearse", _rehearse, "only a local Slack and a local Claude")
    add("link", _link, "a link that opens the running daemon's page once, for ten minutes")
    add("mcp", _mcp, "for an MCP client: pass stdin and stdout on to the running daemon (MCP_SERVER)")
    doctor = add("doctor", _doctor, "what is wrong, and how to mend it; exit 1 if anything is")
    doctor.add_argument("--json", action="store_true", help="the same, for a program")
    read = add("read", _read, "answer a question about files, however long; exit 0 answered, 2 in part")
    read.add_argument(
        "files", nargs="+", metavar="FILE", type=Path, help="text, code, CSV, JSON, PDF or DOCX"
    )
    read.add_argument("-q", "--question", required=True, help="what is to be found out")
    _add_journal_option(read)
    check = add("check", _check, "whether the soul's prompts and playbooks can be used; exit 1 if not")
    check.add_argument("folder", nargs="?", type=Path, help="where they are, if not the project's own")
    connect = add("connect", _connect, "consent to an MCP server of mcp.json, in a browser; exit 1 if not")
    connect.add_argument("server", metavar="SERVER", help="its name in mcp.json")
    connect.add_argument("--register", action="store_true", help="as a new client, if the old one is refused")
    tools = add(
        "tools", _tools, "start the tool servers of mcp.json, and list their tools; exit 1 if one fails"
    )
    tools.add_argument("--json", action="store_true", help="the same, for a program")
    add("actions", _actions, "what the soul may choose to do, as Markdown")
    add("kinds", _kinds, "the kinds of entries in the journal, as a Markdown table")
    add("settings", _settings_table, "every setting with its default, as a Markdown table")


def _add_journal_commands(add: Add) -> None:
    trace = add(
        "trace", _trace, "a thread as a tree of causes, with all that was thought: for its owner alone"
    )
    named = "sess-… or its beginning, a Slack link, or C…:ts; without one, the latest threads are listed"
    trace.add_argument("thread", nargs="?", metavar="THREAD", help=named)
    trace.add_argument("--full", action="store_true", help="lines as long as they are; all threads")
    verify = add("verify", _verify, "replay the journal and compare; exit 1 with a line for each violation")
    export = add(
        "export", _export, "the journal as JSON lines, with all that was thought: for its owner alone"
    )
    into = "write to this new file, which nobody else can read (what a shell redirects to, others may)"
    export.add_argument("-o", "--out", metavar="FILE", type=Path, help=into)
    backup = add("backup", _backup, "a copy of the journal as it is now, checked; beside a running daemon")
    backup.add_argument("out", metavar="FILE", type=Path, help="a new file, which nobody else can read")
    for command in (trace, verify, export, backup):
        _add_journal_option(command)
    move = add("move", _move, "the journal from its file into PostgreSQL, or back; while no daemon runs")
    ways = move.add_mutually_exclusive_group(required=True)
    ways.add_argument(
        "--to", metavar="URL", nargs="?", const="", help="into this database, by default DATABASE_URL's"
    )
    ways.add_argument("--back", metavar="FILE", type=Path, help="out of DATABASE_URL's into a new file")
    lost = "with --to: write back what the database has lost, from the copy that has most"
    move.add_argument("--tail", action="store_true", help=lost)
    _add_journal_option(move)
    drop = add("drop-copy", _drop_copy, "with DATABASE_URL: wait no more for a machine whose disk is gone")
    drop.add_argument("machine", metavar="NAME", help="its MACHINE, as doctor names it")


def _add_journal_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--journal", metavar="PATH", type=Path, help="its file, if it is not the usual one")


def _journal(asked: argparse.Namespace) -> Path:
    """Return the journal that a command reads: with DATABASE_URL, this machine's copy, up to date."""
    if asked.journal:
        return Path(asked.journal)
    settings = load()
    if settings.database_url:
        with _loading():
            from daemon.app.copy_commands import update_copy

        update_copy(settings.journal_path, settings.database_url, settings.machine_name)
    else:
        from daemon.engine.journal.copy_mark import refuse_copy_at

        refuse_copy_at(settings.journal_path)
    return settings.journal_path


def _run(_: argparse.Namespace) -> int:
    settings = _settings()
    gc.disable()  # the collector would go over the imported modules
    with _loading():
        from daemon import lifetime
        from daemon.app.daemon import run_daemon

    slack, claude = settings.slack == "rehearsed", settings.claude == "rehearsed"
    rehearsal = samples = None
    if slack or claude:
        rehearsal = _rehearsal(settings, slack=slack, claude=claude)
    if claude:
        settings, samples = _with_tour(settings)
    gc.enable()
    asyncio.run(lifetime.run_until_signal(run_daemon(settings, rehearsal, samples)))
    return 0


def _read(asked: argparse.Namespace) -> int:
    settings = _settings()
    with _loading():
        from daemon import lifetime
        from daemon.app.read_command import FAILED, read_in_terminal

    reading = read_in_terminal(settings, asked.files, asked.question, asked.journal)
    status = asyncio.run(lifetime.run_until_signal(reading))
    return FAILED if status is None else status


def _rehearse(_: argparse.Namespace) -> int:
    settings = _settings()
    with _loading():
        from daemon import lifetime
        from daemon.app.daemon import run_rehearsal

    rehearsal = _rehearsal(settings, slack=True, claude=True)
    asyncio.run(lifetime.run_until_signal(run_rehearsal(settings, rehearsal)))
    return 0


def _link(_: argparse.Namespace) -> int:
    from daemon.engine.clock import SystemClock

    settings = load()
    with _loading():
        from daemon.app.page_link import make_page_link

    print(asyncio.run(make_page_link(settings, SystemClock().now)))
    return 0


def _mcp(_: argparse.Namespace) -> int:
    from daemon.app.mcp_command import pass_stdio_on

    pass_stdio_on(load())
    return 0


def _rehearsal(settings: Settings, *, slack: bool, claude: bool) -> RehearsalMount:
    from daemon.app.discovery import CurrentSoulName
    from daemon.engine.clock import SystemClock
    from rehearsal.cafe import rehearsed_cafe
    from rehearsal.rehearsed import RehearsalServers

    return RehearsalServers(
        clock=SystemClock(),
        slack=settings.rehearsal_path if slack else None,
        claude=claude,
        name=CurrentSoulName(),
        tools=[rehearsed_cafe()] if slack else [],
    )


def _with_tour(settings: Settings) -> tuple[Settings, Path]:
    from daemon.settings.home import project_root
    from rehearsal.tour import FILES, OWNER, SAMPLES

    files = project_root() / FILES
    if not is_set("ISM_ENABLED"):
        settings = replace(settings, ism_enabled=True)
    if not settings.knowledge_dirs and files.is_dir():
        settings = replace(settings, knowledge_dirs=(files,))
    if not settings.owner_user_ids:
        settings = replace(settings, owner_user_ids=frozenset({OWNER}))
    return settings, project_root() / SAMPLES


def _settings() -> Settings:
    settings = load()
    machine = settings.machine_name if settings.database_url else ""
    begin_log(settings.log_level, settings.log_format, machine)
    for warning in (*misspelt(), *unreadable_lines(), *taken_for_false()):
        log.warning("%s", warning)
    return settings


def _doctor(asked: argparse.Namespace) -> int:
    from daemon.engine.clock import SystemClock

    with _loading():
        from daemon.app.doctor import examine_installation

    logging.disable()  # the findings report failures
    return asyncio.run(examine_installation(SystemClock(), asked.json))


def _check(asked: argparse.Namespace) -> int:
    from daemon.settings.home import project_root

    with _loading():
        from daemon.app.check import check_texts, find_owner_code, has_known_owner

    folder = asked.folder or project_root()
    has_owner, sandbox, servers = True, "", None
    with suppress(ConfigError):  # the doctor reports this error
        settings = load()
        has_owner, sandbox, servers = has_known_owner(settings), settings.rlm_sandbox, settings.mcp_config
    code = find_owner_code(folder, owned=has_owner, sandbox=sandbox, mcp_config=servers)
    return check_texts(folder, code)


def _connect(asked: argparse.Namespace) -> int:
    settings = _settings()
    with _loading():
        from daemon import lifetime
        from daemon.app.connect_command import connect_server
        from daemon.engine.clock import SystemClock

    connecting = connect_server(settings, asked.server, SystemClock(), register=asked.register)
    status = asyncio.run(lifetime.run_until_signal(connecting))
    return INTERRUPTED if status is None else status


def _tools(asked: argparse.Namespace) -> int:
    from daemon.engine.clock import SystemClock
    from daemon.settings.home import project_root

    settings = load()
    with _loading():
        from daemon import lifetime
        from daemon.app.tools_command import list_tools

    listing = list_tools(settings, project_root(), SystemClock(), as_json=asked.json)
    status = asyncio.run(lifetime.run_until_signal(listing))
    return INTERRUPTED if status is None else status


def _actions(_: argparse.Namespace) -> int:
    from daemon.settings.home import project_root

    with _loading():
        from daemon.app.discovery import all_actions, find_owner_actions

    return _print_page(all_actions(find_owner_actions(project_root()).actions).as_markdown())


def _kinds(_: argparse.Namespace) -> int:
    from daemon.app.journal_commands import kinds_table

    return _print_page(kinds_table())


def _settings_table(_: argparse.Namespace) -> int:
    from daemon.settings.home import settings_table

    return _print_page(settings_table())


def _version(_: argparse.Namespace) -> int:
    from daemon.settings.home import version

    return _print_page(f"soul daemon {version()}\n")


def _print_page(page: str) -> int:
    _end_at_broken_pipe()
    print(page, end="")
    return 0


def _trace(asked: argparse.Namespace) -> int:
    from daemon.app.journal_commands import find_thread, list_threads, trace_lines

    width = math.inf if asked.full else shutil.get_terminal_size((200, 0)).columns
    try:
        with _opened_journal(asked) as journal:
            if asked.thread is None:
                lines = [*list_threads(journal, everything=asked.full)]
            else:
                lines = [*trace_lines(journal, find_thread(journal, asked.thread), width)]
    except LookupError as unknown:
        print(unknown.args[0], file=sys.stderr)
        return 1
    for line in lines:
        print(line)
    return 0


def _verify(asked: argparse.Namespace) -> int:
    from daemon.app.journal_commands import printable_text, verify_journal

    place = _journal(asked)
    with _opened_journal(asked, place) as journal:
        verdict = verify_journal(journal)
    for violation in verdict.violations:
        print(printable_text(str(violation)))
    print(printable_text(f"{place}: {verdict}"))
    is_as_logged = asked.journal is not None or _is_as_logged(place)
    return int(bool(verdict.violations) or not is_as_logged)


def _is_as_logged(copy: Path) -> bool:
    """Compare the copy with the log, if there is one, and print the result."""
    url = load().database_url
    if not url:
        return True
    with _loading():
        from daemon.app.copy_commands import check_against_log

    line, equal = check_against_log(copy, url)
    print(line)
    return equal


def _export(asked: argparse.Namespace) -> int:
    from daemon.engine.event import entry_as_json

    # no snapshot: while a pager waits, it would keep the daemon's log from truncation
    with _opened_journal(asked, snapshot=False) as journal, _output(asked.out) as out:
        for entry in journal.all_entries(upto=journal.last_seq_of_all()):
            print(json.dumps(entry_as_json(entry)), file=out)
    return 0


def _backup(asked: argparse.Namespace) -> int:
    from daemon.app.journal_commands import backup_journal

    print(backup_journal(_journal(asked), asked.out))
    return 0


def _move(asked: argparse.Namespace) -> int:
    settings = load()
    with _loading():
        from daemon.app.move_command import move_back, move_to_log

    path, url = asked.journal or settings.journal_path, settings.database_url
    if asked.to:
        url = _asked_database(asked.to)
    if not url:
        raise ConfigError("DATABASE_URL is not set: write it into .env, or name the database after --to.")
    lines = move_back(path, url, asked.back) if asked.back else move_to_log(path, url, tail=asked.tail)
    for line in lines:
        print(line, flush=True)
    return 0


def _drop_copy(asked: argparse.Namespace) -> int:
    url = load().database_url
    if not url:
        raise ConfigError("DATABASE_URL is not set: only with it do machines have copies.")
    with _loading():
        from daemon.app.copy_commands import drop_copy

    try:
        print(drop_copy(url, asked.machine))
    except LookupError as unknown:
        print(unknown.args[0], file=sys.stderr)
        return 1
    return 0


def _asked_database(url: str) -> str:
    try:
        return read_database_url(url.strip())
    except ValueError as error:
        raise ConfigError(f"The URL after --to {error}.") from error


@contextmanager
def _loading() -> Iterator[None]:
    try:
        yield
    except LOAD_ERRORS as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and not missing.startswith("daemon"):
            raise ConfigError(f"{missing} is not installed here: `make install`, then `make run`") from error
        read = [Path(frame.filename) for frame in extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            read.append(Path(error.filename))
        here = Path(daemon.__file__).parent
        last = [file for file in read if here in file.parents][-1]
        raise ConfigError(
            f"{last.relative_to(here.parent)}: {unloadable_reason(error, last)}: mend it"
        ) from error


@contextmanager
def _opened_journal(
    asked: argparse.Namespace, place: Path | None = None, *, snapshot: bool = True
) -> Iterator[JournalReader]:
    from daemon.engine.journal.reader import open_reader
    from daemon.kinds import SOUL_KINDS

    _end_at_broken_pipe()
    with open_reader(place or _journal(asked), SOUL_KINDS, snapshot=snapshot) as journal:
        yield journal


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    from daemon.app.journal_commands import write_atomically

    with write_atomically(path) as part, part.open("w", encoding="utf-8") as file:
        yield file


def _end_at_broken_pipe() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
