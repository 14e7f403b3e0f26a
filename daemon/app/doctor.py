"""`python -m daemon doctor`: checks of machine, settings, model, workspace and sandboxes, with a remedy for
each fault.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError

from config import Settings, load, misspelt, taken_for_false, unreadable_lines
from daemon.app.check import (
    Finding,
    all_well,
    doubtful_finding,
    find_owner_code,
    find_text_findings,
    finding_line,
    has_known_owner,
    ill_finding,
    suggest_name,
    well_finding,
)
from daemon.app.discovery import load_for_log, soul_name
from daemon.app.journal_commands import verify_journal
from daemon.app.start_lines import budget_warning_line
from daemon.app.tool_probe import probe_servers
from daemon.app.wiring import make_claude, make_slack_access, models_by_role
from daemon.claude.backend import UNKNOWN_VERSION, ModelBackend, ServerDescription, sample_names
from daemon.claude.capability_probes import TEXTS, ask_probe
from daemon.claude.client import KNOWN, LOOKING_UP, UNLISTED, ClaudeClient
from daemon.claude.models import is_listed
from daemon.claude.requests import Schema
from daemon.console.server import bind, url_of
from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalDamaged, JournalError, JournalVersionError
from daemon.engine.execution import no_lease_check
from daemon.engine.journal.copy_mark import refuse_copy_at
from daemon.engine.journal.journal_file import RESTORE, lock_holder
from daemon.engine.journal.reader import open_reader
from daemon.inner_life.programs.supervisor import program_path
from daemon.kinds import SOUL_KINDS
from daemon.memory import Memory, working_memory
from daemon.model import ACCOUNT, AccountFault, ModelReply, Role, account_advice, settings_naming_model
from daemon.sandbox.bubblewrap import find_bwrap
from daemon.sandbox.environment import SandboxError
from daemon.sandbox.session import Kind, SandboxFactory, describe_confinement
from daemon.settings.home import (
    TOKEN,
    daemon_files_and_contents,
    is_readable_by_others,
    project_root,
    read_text_file,
)
from daemon.settings.limits import AllowedProgram
from daemon.settings.mcp_file import MCP_FILE
from daemon.settings.mcp_servers import ToolServersFile
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import read_token
from daemon.slack.block_text import count_at, parse_json
from daemon.slack.places import OTHER_DAEMON_ADVICE
from daemon.slack.socket_pool import BEAT
from daemon.slack.status import ADVICE, DONE
from daemon.slack.web_api import (
    LACKING,
    OUT_OF_REACH,
    SlackAccess,
    WebApi,
    identify_bot,
    is_permanent,
    make_web_api,
    method_name,
    slack_error,
    socket_url,
    unreachable_advice,
)

HELLO = "Hello."


FIXES = {
    "bad-request": "Is CLAUDE_MODEL the name of a model there?",
    "unreachable": "Check {address} and the network",
}
"""Remedies for permanent failures that are no account faults."""


ENDING_FAILURES = frozenset({"unauthorized", "unreachable"})
"""Failures after which the models are not checked further."""


async def ask_server(llm: ClaudeClient) -> None:
    """Fetch the model list of the server at the base URL, within the time limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOKING_UP):
            await llm.backend.look_up()


async def examine_claude(
    llm: ClaudeClient, models: Mapping[Role, str], *, paid: bool
) -> AsyncIterator[Finding]:
    """Check the server's list; then greet the speaking model if `paid`; then look up the other models."""
    backend = llm.backend
    for finding in _list_findings(backend):
        yield finding
    if backend.check.wrong:  # the daemon would not start either
        return
    names = list(dict.fromkeys(models.values()))
    if paid:
        reply = await _say_hello(llm)
        yield _answer_finding(reply, models, llm)
        if reply.failure in ENDING_FAILURES:
            return
        names.remove(models["speak"])
    else:
        yield well_finding("claude", "not asked, since BUDGET_DAILY_USD is 0")
    if names and not _names_listed(backend.server):
        yield await _look_up_names(llm, names, models)


def _names_listed(server: ServerDescription | None) -> Sequence[str]:
    if server is None or server.models is None:
        return ()
    return server.models.names


def _list_findings(backend: ModelBackend) -> Sequence[Finding]:
    server = backend.server
    if server is None:
        return ()
    found = [ill_finding("models", sentence.rstrip(".")) for sentence in backend.check.wrong]
    found += [doubtful_finding("models", sentence.rstrip(".")) for sentence in backend.check.doubtful]
    found += [doubtful_finding("windows", sentence.rstrip(".")) for sentence in backend.odd_windows]
    names = _names_listed(server)
    if names and not found:
        count = "1 model" if len(names) == 1 else f"{len(names):,} models"
        found.append(
            well_finding("models", f"{server.address} lists {count}, those of the settings among them")
        )
    return found


async def _say_hello(llm: ClaudeClient) -> ModelReply:
    memory = working_memory([Memory(role="user", content=HELLO)])
    return await llm.call(llm.request(memory, "speak"), None, no_lease_check, asyncio.Event())


def _answer_finding(reply: ModelReply, models: Mapping[Role, str], llm: ClaudeClient) -> Finding:
    if reply.outcome in ("ok", "cut"):
        within = llm.first_event_within(reply.model)
        first = reply.seconds if reply.first_text is None else reply.first_text
        if first > within:
            return ill_finding(
                "claude",
                f"{reply.model} answered, but its first word came after {first:.1f} s, and no more than"
                f" {within:g} are waited for. Take a smaller model or a faster server, or set"
                " MODEL_FIRST_TOKEN higher",
            )
        return well_finding("claude", f"{reply.model} answered in {reply.seconds:.1f} s, {_price(reply)}")
    fix = FIXES.get(reply.failure, "Try again in a few minutes").format(address=llm.account.address)
    if reply.failure in ACCOUNT:
        fix = _fix(reply.failure, reply.model, models, llm)
    return ill_finding("claude", f"{reply.model} did not answer ({reply.failure or reply.outcome}). {fix}")


async def _look_up_names(llm: ClaudeClient, names: list[str], models: Mapping[Role, str]) -> Finding:
    fixes: list[str] = []
    unsure: list[str] = []
    why = "it could not be asked"
    for name in names:
        word = await llm.look_up(name)
        if word in ACCOUNT:
            fixes.append(_fix(word, name, models, llm))
        elif word != KNOWN:
            unsure.append(name)
        if word == UNLISTED:
            why = "this server has no list of models"
    if fixes:
        return ill_finding("models", " ".join(dict.fromkeys(fixes)))
    if not unsure:
        return well_finding("models", f"{', '.join(names)}: known, too")
    return well_finding("models", f"{', '.join(unsure)}: not looked up, {why}")


def _fix(word: str, name: str, models: Mapping[Role, str], llm: ClaudeClient) -> str:
    """Return a remedy; for an unknown model with names from the server's list."""
    said = account_advice(
        AccountFault(failure=word, model=name), settings_naming_model(name, models), llm.account
    )
    names = _names_listed(llm.backend.server)
    if word == "unknown-model" and names:
        said += f" The server lists {sample_names(names, name)}."
    return said


def _price(reply: ModelReply) -> str:
    if reply.worth:
        return f"for ${reply.cost:.5f}"
    return "for nothing"


def examine_models(settings: Settings, llm: ClaudeClient) -> Iterator[Finding]:
    """Yield findings on prices, context windows, and settings without effect."""
    table, names = settings.table, settings.model_names
    costs = [f"{name} {table.model(name).price}" for name in names]
    yield well_finding("prices", f"{', '.join(costs)} (input/output/cached, in dollars for a million tokens)")
    yield well_finding("windows", "; ".join(_window(settings, llm, name) for name in names))
    yield well_finding("form", _form(settings))
    small = budget_warning_line(settings).removeprefix("; ")
    if small and settings.budget_daily_usd:
        yield ill_finding("budget", small)
    for key, given in (("MODEL_PRICES", settings.model_prices), ("MODEL_WINDOW", settings.model_window)):
        for name, _ in given:
            if name and name not in names:
                guess = suggest_name(name, names)
                said = f"{key} names {name}, and no setting names such a model"
                yield Finding(name="unused", said=f"{said}; {guess}".rstrip("; "), ok=not guess)


def _form(settings: Settings) -> str:
    match settings.model_form:
        case "auto" if all(map(is_listed, settings.model_names)):
            return "answers in sections"
        case "auto":
            return "answers in sections; in plain words where a model does not keep them (MODEL_FORM=auto)"
        case form:
            return f"answers in {'plain words' if form == 'plain' else form} (MODEL_FORM={form})"


def _window(settings: Settings, llm: ClaudeClient, name: str) -> str:
    said = f"{name} {llm.window(name):,} tokens"
    if llm.backend.window(name):
        return said
    told = dict(settings.model_window)
    if is_listed(name) or name in told or "" in told:
        return said
    return f"{said}, as nobody says it: set MODEL_WINDOW to what its server takes (16000 is usual)"


CELL, RESULT = "6 * 7", 42
"""Code of a test cell, and its value."""


async def examine_sandbox(kind: str) -> Finding:
    if kind not in get_args(Kind):
        return await _examine_owner_sandbox(kind)
    if kind == "monty":
        return well_finding("sandbox", "programs run in monty alone")
    try:
        confined = await describe_confinement()
    except SandboxError as error:
        if kind == "cpython":
            return ill_finding("sandbox", str(error))
        return well_finding("sandbox", f"programs run in monty alone. {error}")
    where = "in monty, and in CPython where they need it"
    if kind == "cpython":
        where = "in CPython"
    return well_finding("sandbox", f"programs run {where}; there {confined} confine them")


async def _examine_owner_sandbox(name: str) -> Finding:
    try:
        async with SandboxFactory(name) as sandboxes:
            sandbox = await sandboxes.open({})
            try:
                ran = await sandbox.execute_code(CELL)
            finally:
                await sandbox.close()
    except (ConfigError, SandboxError) as error:
        return ill_finding("sandbox", str(error).rstrip("."))
    if ran.value != RESULT:
        return ill_finding(
            "sandbox",
            f"{name} opens, but {CELL} came to {ran.value!r} in it: {ran.error.strip().rstrip('.')}",
        )
    return well_finding(
        "sandbox", f"programs run in {name}, your own class; what confines them is its matter"
    )


async def examine_programs(recipes: Mapping[str, AllowedProgram], seconds: float) -> Finding:
    """Report the programs of PROCESS_COMMANDS that are installed, and their time limit."""
    if not recipes:
        return well_finding("processes", "the inner life may run no programs (PROCESS_COMMANDS)")
    missing = [name for name, recipe in recipes.items() if program_path(recipe) is None]
    if missing:
        return ill_finding(
            "processes",
            f"PROCESS_COMMANDS names what is no program here: {', '.join(missing)}. Install it, or write its"
            " full path",
        )
    tool, why = await find_bwrap()
    kept = f"they can reach the network: {why}"
    if tool:
        kept = f"{tool} keeps them from the network"
    return well_finding("processes", f"it may run {', '.join(recipes)} for {seconds:g} s each; {kept}")


async def examine_tool_servers(settings: Settings, file: ToolServersFile, clock: Clock) -> Sequence[Finding]:
    """Start the tool servers that have no fault; return a finding for each."""
    found = []
    for probe in await probe_servers(settings, file, clock):
        make = well_finding if probe.is_ready else ill_finding
        found.append(make("tools", f"{probe.state.name}: {probe.line.rstrip('.')}"))
    return found


def examine_mcp_mode(path: Path, file: ToolServersFile) -> Iterator[Finding]:
    """Yield a finding if other users can read secrets in mcp.json."""
    written = [name for name, server in file.servers.items() if server.has_written_secrets]
    if written and is_readable_by_others(path):
        said = f"others may read {path}, and keys may stand in it ({', '.join(written)}): chmod go= {path}"
        yield doubtful_finding("modes", said)


HEAD = ("model", "window", "JSON", "form", "images", "reads", "writes", "at once", "looked up")


FORMS = {"format": "by output_config", "grammar": "by a grammar", "prompt": "by the prompt alone"}


UNKNOWN_VALUE = "?"


async def capability_table(
    llm: ClaudeClient, clock: Clock, folder: Path, *, paid: bool
) -> AsyncIterator[Finding]:
    """Yield a row of a table for each model without a listed price.

    If `paid`, unknown capabilities are probed and kept. `folder` has the owner's texts.
    """
    backend = llm.backend
    if backend.server is None or not backend.unlisted_models:
        return
    if paid:
        for model in backend.unlisted_models:
            await _ask_all(llm, clock, folder, model)
    rows = [HEAD, *(_row(backend, model) for model in backend.unlisted_models)]
    for line in align_columns(rows):
        yield well_finding("can do", line)
    yield well_finding("server", _server(backend))


async def _ask_all(llm: ClaudeClient, clock: Clock, folder: Path, model: str) -> None:
    async def ask(_: str, request: Mapping[str, Any], form: Schema | None) -> ModelReply:
        return await llm.probe(request, form, asyncio.Event())

    backend = llm.backend
    for question in backend.open_questions(model):
        if backend.note_server_statement(model, question, clock.now()):
            continue
        try:
            text = read_text_file(folder / f"{TEXTS[question]}.md")
        except ValueError:  # the check of the texts reports this
            continue
        backend.note_finding(model, question, await ask_probe(question, model, text, ask), clock.now())


def _row(backend: ModelBackend, model: str) -> Sequence[str]:
    known, at = backend.capabilities(model), backend.looked_up_at(model)
    window = f"{known.window:,} tokens" if known.window else UNKNOWN_VALUE
    return (
        model,
        window,
        FORMS.get(known.schema or "", UNKNOWN_VALUE),
        _yes_or_no(known.keeps_sections, "sections", "plain"),
        _yes_or_no(known.images, "yes", "no"),
        _speed(known.prompt_speed),
        _speed(known.answer_speed),
        str(known.slots or UNKNOWN_VALUE),
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" if at else "never",
    )


def _yes_or_no(value: bool | None, yes: str, no: str) -> str:
    if value is None:
        return UNKNOWN_VALUE
    return yes if value else no


def _speed(tokens: float | None) -> str:
    return f"{tokens:g} tokens/s" if tokens else UNKNOWN_VALUE


def align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _server(backend: ModelBackend) -> str:
    server = backend.server
    assert server is not None
    said = server.address
    if server.version != UNKNOWN_VERSION:
        said += f": {server.version}"
    if server.models is None:
        return f"{said}; it shows no list of models ({server.why}), so every name is accepted"
    return said


GROUP_SCOPE = "usergroups:read"
"""Scope that only approvals by user groups need."""

NOWHERE, NEVER = "C0000000000", "1.000000"
"""Channel and ts of a conversation that does not exist."""


async def examine_slack(
    access: SlackAccess, wanted: Set[str], clock: Clock, *, alone: bool
) -> AsyncIterator[Finding]:
    """Check both tokens, and compare the scopes with `wanted`, those of the manifest.

    `alone`: no daemon runs with this home, so no open socket is its own.
    """
    async with ClientSession(headers=access.headers) as session:
        web = make_web_api(access, session, clock)
        bot = await _look_once("bot token", access, _bot(web, access))
        yield bot
        if bot.ok:
            scopes = await _look_once("scopes", access, _scopes(web, wanted))
            yield scopes
            if scopes.ok:
                yield await _look_once("agent", access, _agent(web))
        app = await _look_once("app token", access, _app(web, access))
        yield app
        if alone and app.ok:
            yield await _look_once("sockets", access, _sockets(web, access, session))


async def _look_once(name: str, access: SlackAccess, looking: Awaitable[Finding]) -> Finding:
    """Return the finding of a check; if the check fails, a finding on the failure."""
    try:
        return await looking
    except ConfigError as error:
        return ill_finding(name, str(error))
    except (SlackApiError, *OUT_OF_REACH) as failure:
        return ill_finding(name, unreachable_advice(access, failure))


async def _bot(web: WebApi, access: SlackAccess) -> Finding:
    me = await identify_bot(web, access)
    return well_finding("bot token", f"{me.name}, in the workspace {me.team}")


async def _scopes(web: WebApi, wanted: Set[str]) -> Finding:
    answer = await web.call_readonly(web.client.auth_test)
    shown = str(answer.headers.get("X-OAuth-Scopes", ""))
    missing = sorted(wanted - {scope.strip() for scope in shown.split(",")})
    fix = "Add them at https://api.slack.com/apps, OAuth & Permissions, and install the app again"
    if missing == [GROUP_SCOPE]:
        said = f"{GROUP_SCOPE} is missing, so no user group (S…) can approve calls of tools. {fix}"
        return doubtful_finding("scopes", said)
    if missing:
        return ill_finding("scopes", f"{', '.join(missing)} are missing. {fix}")
    return well_finding("scopes", f"all {len(wanted)} that manifest.json asks for")


async def _agent(web: WebApi) -> Finding:
    """Check if Slack supports the status; the conversation does not exist, so nothing is shown."""
    method = web.client.agents_sessions_setStatus
    try:
        await web.call_readonly(method, channel_id=NOWHERE, thread_ts=NEVER, status=DONE)
    except SlackApiError as refusal:
        if slack_error(refusal) in LACKING:
            return ill_finding(
                "agent", f"Slack refuses {method_name(method)} ({slack_error(refusal)}). {ADVICE}"
            )
        if not is_permanent(refusal):
            raise
    return well_finding("agent", "Slack shows that it is at work, with a Stop button")


async def _app(web: WebApi, access: SlackAccess) -> Finding:
    await socket_url(web, access)
    return well_finding("app token", "opens a socket")


async def _sockets(web: WebApi, access: SlackAccess, session: ClientSession) -> Finding:
    """Open a socket to read the number of sockets that Slack counts for this app."""
    client = web.client
    url = await socket_url(web, access)
    async with session.ws_connect(url, proxy=client.proxy, ssl=client.ssl or True) as ws:
        async with asyncio.timeout(BEAT):
            hello = parse_json(await ws.receive_str())
    counted = count_at(hello.get("num_connections")) if isinstance(hello, dict) else 0
    if counted <= 1:
        return well_finding("sockets", "no other daemon uses this app")
    others = f"Slack counts {counted - 1} sockets of this app that are not ours, so another daemon uses it"
    return ill_finding(
        "sockets",
        f"{others}. {OTHER_DAEMON_ADVICE} One that has just ended is counted for a moment: look again.",
    )


LEAST_PYTHON = (3, 11)


SCARCE = 200_000_000
"""Bytes that must be free, enough for a busy day."""


MOST_VERIFIED = 100_000
"""Most entries of a journal that is verified."""


PATIENCE = ClientTimeout(total=5)


ENV = Path(".env")


def examine_python(version: Sequence[int]) -> Finding:
    said = ".".join(map(str, version[:3]))
    if tuple(version[:2]) < LEAST_PYTHON:
        return ill_finding(
            "python", f"{said} is too old. Install Python 3.11 or newer: make PYTHON=python3.11 install"
        )
    return well_finding("python", said)


def examine_disk(home: Path, scarce: int = SCARCE) -> Finding:
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
    """Check that no other user can read the journals and tokens."""
    shown = [
        str(path) for path in (home, *daemon_files_and_contents(home), env) if is_readable_by_others(path)
    ]
    if not shown:
        return well_finding("modes", f"nobody else can read {home} or {env}")
    fix = f"chmod go= {shlex.join(shown)}"
    if str(home) in shown:
        fix = f"{fix}; or give SOUL_HOME a folder of its own"
    return ill_finding("modes", f"others may look into {', '.join(shown)}. {fix}")


def examine_page_access(home: Path, token: str) -> Finding:
    """Check the access to the page, by CONSOLE_TOKEN (`token`) or the generated token."""
    how = "`python -m daemon link` prints a link that opens it in a browser"
    if token:
        return well_finding("page", f"CONSOLE_TOKEN is its token; {how}")
    try:
        if not read_token(home):
            return well_finding("page", f"no token yet; the first start makes {home / TOKEN}")
    except ConfigError as error:
        return ill_finding("page", str(error).rstrip("."))
    return well_finding("page", f"its token is in {home / TOKEN}; {how}")


def examine_journal(path: Path, *, is_copy: bool = False) -> Finding:
    """Verify the journal, also while a daemon uses it. `is_copy`: it is meant to be the copy of a log."""
    try:
        if not path.exists():
            return well_finding("journal", f"none yet; the first start makes {path}")
        if not is_copy:
            refuse_copy_at(path)
        with open_reader(path, SOUL_KINDS) as found:
            if found.last_seq_of_all() > MOST_VERIFIED:
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
    """Check that the port is free, or in use by the daemon of this journal."""
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
    """Return the health of the daemon at this address; None without one."""
    url = f"{url_of(host, number)}/healthz"
    try:
        async with ClientSession(timeout=PATIENCE) as session, session.get(url) as response:
            said = await response.json()
    except (ClientError, TimeoutError, ValueError, RecursionError):
        return None
    if isinstance(said, dict) and said.keys() >= {"ok", "seq"}:
        return said
    return None


LONGEST_NAME = 35
"""Most characters of an app's name in Slack."""


async def examine_installation(clock: Clock, as_json: bool) -> int:
    """Print the findings as they come; return exit status 1 if one is a fault.

    Without a Slack app, also print a link that creates one.
    """
    shown: list[Finding] = []
    async for finding in all_findings(clock):
        shown.append(finding)
        if not as_json:
            print(finding_line(finding), flush=True)
    ok = all_well(shown)
    link = ""
    if "bot token" not in [finding.name for finding in shown]:
        link = app_link(soul_name())
    if as_json:
        told = {"ok": ok, "findings": shown, "create_app": link}
        print(json.dumps(told, indent=2, default=asdict))
    elif link:
        print(f"To make the Slack app from manifest.json, open:\n{link}")
    return int(not ok)


def app_link(called: str) -> str:
    """Return Slack's link that creates an app from manifest.json, with the name `called`."""
    described = _manifest()
    described["display_information"]["name"] = called[:LONGEST_NAME]
    described["features"]["bot_user"]["display_name"] = called
    manifest = json.dumps(described, separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(manifest)}"


async def all_findings(clock: Clock) -> AsyncIterator[Finding]:
    """Yield all findings, in the order in which a start would meet the faults."""
    yield examine_python(sys.version_info[:3])
    try:
        for key in misspelt():
            yield Finding(name="settings", said=str(key), ok=not key.meant)
        for said in (*unreadable_lines(), *taken_for_false()):
            yield ill_finding("settings", said)
        settings = load()
    except ConfigError as error:
        for wrong in str(error).splitlines():
            yield ill_finding("settings", wrong)
        return
    yield well_finding("settings", "every key that is read can be used")
    async for finding in settings_findings(settings, clock):
        yield finding


async def settings_findings(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    code = find_owner_code(project_root(), owned=has_known_owner(settings), mcp_config=settings.mcp_config)
    wrong = [one for one in find_text_findings(project_root(), code) if not one.ok]
    for one in wrong or [well_finding("texts", "soul.md, the prompts and the playbooks can be used")]:
        yield one
    yield examine_disk(settings.soul_home)
    yield examine_file_modes(settings.soul_home)
    for finding in examine_mcp_mode(settings.mcp_config or project_root() / MCP_FILE, code.servers):
        yield finding
    yield examine_page_access(settings.soul_home, settings.console_token)
    if settings.database_url:
        log_checks = await load_for_log("log_checks")
        for finding in await asyncio.to_thread(log_checks.examine_log, settings):
            yield finding
    yield examine_journal(settings.journal_path, is_copy=bool(settings.database_url))
    yield await examine_port(settings.host, settings.port, settings.journal_path)
    yield await examine_sandbox(settings.rlm_sandbox)
    yield await examine_programs(settings.process_commands, settings.process_timeout)
    for finding in await examine_tool_servers(settings, code.servers, clock):
        yield finding
    async for finding in _model_findings(settings, clock):
        yield finding
    async for finding in _workspace_findings(settings, clock):
        yield finding


async def _model_findings(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.claude == "rehearsed":
        said = "rehearsed by a script; for Claude, set ANTHROPIC_API_KEY"
        if settings.openai_api_key:
            said = "rehearsed by a script: OPENAI_API_KEY alone asks nobody, set OPENAI_BASE_URL, too"
        yield well_finding("claude", said)
        return
    paid = settings.budget_daily_usd > 0
    async with make_claude(settings, clock, "") as llm:
        await ask_server(llm)
        for known in examine_models(settings, llm):
            yield known
        async for finding in examine_claude(llm, models_by_role(settings), paid=paid):
            yield finding
            paid = paid and finding.ok
        async for finding in capability_table(llm, clock, project_root(), paid=paid):
            yield finding


async def _workspace_findings(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.slack == "rehearsed":
        said = "rehearsed on this machine; for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN"
        yield well_finding("slack", said)
        return
    wanted = frozenset(_manifest()["oauth_config"]["scopes"]["bot"])
    # daemons that share the log are no others
    alone = not (settings.database_url or lock_holder(settings.journal_path))
    async for finding in examine_slack(make_slack_access(settings), wanted, clock, alone=alone):
        yield finding


def _manifest() -> Any:
    return json.loads((project_root() / "manifest.json").read_text(encoding="utf-8"))
