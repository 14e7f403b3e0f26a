"""Further stories of a kill run: a tool that asks first, forgetting, an inner life with programs."""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from daemon.engine.kinds import EntriesForgotten
from daemon.kinds import ForgetCompleted, ForgetRequested, ProgramPlaced, ProgramStarted, ToolsListed
from rehearsal.blocks import buttons
from rehearsal.claude.prompt import Body, last_text
from rehearsal.gestures import press
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.refusal import ApiError
from tests.stories.stage import ALICE, CAROL
from tests.stories.ticking import do, thought
from tests.tools.connected import RAW

if TYPE_CHECKING:  # a run takes its stories from here
    from tests.cluster.kill_run import KillRun

PATIENCE = 120.0
"""Most seconds until a person gives up."""
TICK = "why you think now"
"""Words in the requests of ticks only."""
AGAIN = 8.0
"""Seconds after which a person presses a button again."""
TABLES = """
select schemaname, tablename from pg_tables where schemaname not in ('information_schema', 'pg_catalog')
"""


class Story(ABC):
    """Something that people do during a run, and what must be true of it at the end."""

    def settings(self, folder: Path) -> Mapping[str, str]:
        """Return settings that all daemons need for it."""
        return {}

    @abstractmethod
    async def tell(self, run: KillRun) -> None: ...

    @abstractmethod
    async def violations(self, run: KillRun) -> Sequence[str]: ...

    @abstractmethod
    def figures(self) -> Mapping[str, int]:
        """Return how often it was told."""


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Return True as soon as this holds, False after these seconds."""
    deadline = monotonic() + seconds
    while not holds() and monotonic() < deadline:  # noqa: ASYNC110  what is looked at tells nobody
        await asyncio.sleep(0.1)
    return bool(holds())


def word(run: KillRun) -> str:
    """Return a word that nobody has said yet."""
    return f"w{run.draw.getrandbits(40):010x}"


# Buttons


def _with_button(run: KillRun, root: str, label: str) -> Iterator[tuple[str, str]]:
    """Yield (channel, ts) of the messages of a thread that have this button."""
    for channel, at, ts, body in run.world.messages():
        if at == root and any(one["text"]["text"] == label for _, one in buttons(body)):
            yield channel, ts


async def press_all(run: KillRun, who: str, root: str, label: str, is_over: Callable[[], bool]) -> None:
    """Press this button of a thread wherever it appears, again if nothing comes of it, until it is over."""
    deadline = monotonic() + PATIENCE
    while not is_over() and monotonic() < deadline:
        for channel, ts in list(_with_button(run, root, label)):
            _press(run, who, channel, ts, label)
            await until(partial(_is_gone, run, root, label, ts), AGAIN)
        await asyncio.sleep(0.1)


def _is_gone(run: KillRun, root: str, label: str, ts: str) -> bool:
    return ts not in [at for _, at in _with_button(run, root, label)]


def _press(run: KillRun, who: str, channel: str, ts: str, label: str) -> None:
    workspace = run.world.slack.workspace
    asked = {"user": who, "channel": channel, "ts": ts, "label": label}
    try:
        with workspace.db:
            press(workspace, asked, run.world.urls["people"])
    except ApiError as error:
        if str(error) not in ("no_such_button", "message_not_found"):  # it was replaced meanwhile
            raise


class ToolThatAsksFirst(Story):
    """A tool of a stdio server that is called after Alice has approved it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._heard = Path()

    def settings(self, folder: Path) -> Mapping[str, str]:
        self._heard = folder / "heard.jsonl"
        raw = {
            "command": sys.executable,
            "args": ["-I", "-S", "-B", str(RAW)],
            "env": {"HEARD": str(self._heard)},
            "soul": {"tools": {"allow": ["echo"]}, "approval": "always"},
        }
        servers = folder / "mcp.json"
        servers.write_text(json.dumps({"mcpServers": {"raw": raw}}), encoding="utf-8")
        servers.chmod(0o600)
        return {"MCP_CONFIG": str(servers), "OWNER_USER_IDS": ALICE_HERSELF.id, "ISM_ENABLED": "true"}

    async def tell(self, run: KillRun) -> None:
        await until(lambda: run.journal.entries_of_kind(ToolsListed))
        text = word(run)
        root = await run.ask("alice", ALICE, f"Please call echo of raw: “{text}”.")
        self._texts[text] = root
        await press_all(run, ALICE_HERSELF.id, root, "Approve", lambda: not run.is_open(ALICE, root))

    async def violations(self, run: KillRun) -> Sequence[str]:
        calls = Counter(self._calls())
        found = [f"a tool was called {calls[text]} times: {text}" for text in self._texts if calls[text] > 1]
        never = [text for text in self._texts if not calls[text]]
        found += [f"a tool was never called: {text}, {self._said(run, text)}" for text in never]
        for text, root in self._texts.items():
            found += [f"a button is left: {text}" for _ in _with_button(run, root, "Approve")]
        return found

    def figures(self) -> Mapping[str, int]:
        return {"told": len(self._texts)}

    def _said(self, run: KillRun, text: str) -> Sequence[str]:
        root = self._texts[text]
        return [str(body["text"])[:200] for _, at, _, body in run.world.messages() if at == root]

    def _calls(self) -> Iterator[str]:
        if not self._heard.exists():
            return
        for line in self._heard.read_text(encoding="utf-8").splitlines():
            message = json.loads(line)
            if message.get("method") == "tools/call":
                yield message["params"]["arguments"].get("text", "")


class WordsForgotten(Story):
    """Carol's secrets, which she has forgotten: the log and all copies hold them no more."""

    def __init__(self) -> None:
        self._secrets: list[str] = []
        self._busy = False

    async def tell(self, run: KillRun) -> None:
        if self._busy:  # one request at a time
            return
        self._busy = True
        secret = word(run)
        root = await run.ask("carol", CAROL, f"My name for the boat is {secret}.")
        await until(lambda: not run.is_open(CAROL, root))
        self._secrets.append(secret)
        asked = await run.ask("carol", CAROL, "!forget me")
        done = len(run.journal.entries_of_kind(ForgetCompleted))
        await press_all(
            run,
            CAROL_HERSELF.id,
            asked,
            "Forget it",
            lambda: len(run.journal.entries_of_kind(ForgetCompleted)) > done,
        )
        self._busy = False

    async def violations(self, run: KillRun) -> Sequence[str]:
        await until(lambda: not _forgetting(run))
        found = [f"not forgotten yet: {one}" for one in _forgetting(run)]
        completed = len(run.journal.entries_of_kind(ForgetCompleted))
        if completed < len(self._secrets):
            found.append(
                f"{len(self._secrets)} times was something to be forgotten, {completed} times it was"
            )
        traces: list[str] = []

        def are_gone() -> bool:
            traces[:] = [*self._in_log(run), *self._in_copies(run)]
            return not traces

        await until(are_gone, 20)
        return found + traces

    def figures(self) -> Mapping[str, int]:
        return {"told": len(self._secrets)}

    def _in_log(self, run: KillRun) -> Iterator[str]:
        with psycopg.connect(run.url, autocommit=True) as database:
            for schema, table in database.execute(TABLES).fetchall():
                whole = sql.SQL("select t::text from {} t").format(sql.Identifier(schema, table))
                text = "\n".join(row for (row,) in database.execute(whole))
                yield from (f"the table {table} holds {one}" for one in self._secrets if one in text)

    def _in_copies(self, run: KillRun) -> Iterator[str]:
        for one in run.members.all.values():
            for file in sorted(one.home.rglob("*")):
                try:
                    data = file.read_bytes() if file.is_file() else b""
                except FileNotFoundError:  # removed meanwhile
                    continue
                held = [secret for secret in self._secrets if secret.encode() in data]
                yield from (f"{one.name} holds {secret} in {file.name}" for secret in held)


def _forgetting(run: KillRun) -> Sequence[str]:
    """Return what is to be forgotten, or not yet erased."""
    pending: Sequence[Any] = run.journal.pending_entries(ForgetRequested, EntriesForgotten)
    return [f"{one.seq} {one.kind}" for one in pending]


class InnerLifeWithPrograms(Story):
    """An inner life that starts programs, each once."""

    def __init__(self) -> None:
        self._tally = Path()
        self._wanted: list[str] = []
        self._told = 0

    def settings(self, folder: Path) -> Mapping[str, str]:
        self._tally = folder / "tally"
        self._tally.touch()
        script = folder / "program.sh"
        script.write_text(f'echo "$1" >> {self._tally}\nsleep 1\n', encoding="utf-8")
        return {
            "INNER_LIFE_ENABLED": "true",
            "INNER_LIFE_MIN_PAUSE": "1",
            "PROCESS_COMMANDS": f"it=/bin/sh {script} {{word}}",
        }

    async def tell(self, run: KillRun) -> None:
        if not self._told:
            run.world.model.script = partial(self._think, run.world.model.script)
        self._told += 1
        self._wanted.append(word(run))

    def _think(self, usual: Callable[[Body], str], body: Body) -> str:
        """Answer as usual, but start a program in a tick if one is wanted."""
        answer = usual(body)
        if not self._wanted or TICK not in last_text(body):
            return answer
        name = self._wanted.pop()
        return thought(f"I look after {name}.", do("process.start", name="it", slots={"word": name}))

    async def violations(self, run: KillRun) -> Sequence[str]:
        started = Counter(self._tally.read_text(encoding="utf-8").split())
        found = [
            f"a program was started {count} times: {name}" for name, count in started.items() if count > 1
        ]
        await until(lambda: not run.journal.pending_entries(ProgramStarted), 30)
        found += [f"a program never ended: {one}" for one in run.journal.pending_entries(ProgramStarted)]
        placed = Counter(one.event.process for one in run.journal.entries_of_kind(ProgramPlaced))
        found += [f"a program was placed {count} times: {seq}" for seq, count in placed.items() if count > 1]
        wanted = len(run.journal.entries_of_kind(ProgramStarted))
        if len(started) > wanted:
            found.append(f"{len(started)} programs ran, {wanted} were to run")
        return found

    def figures(self) -> Mapping[str, int]:
        ran = len(self._tally.read_text(encoding="utf-8").split())
        return {"told": self._told, "ran": ran}


STORIES: Mapping[str, type[Story]] = {
    "tool": ToolThatAsksFirst,
    "forgetting": WordsForgotten,
    "inner": InnerLifeWithPrograms,
}
