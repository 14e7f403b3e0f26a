"""Changes of tool definitions: their differences, messages to owners, and questions that they make void.

An owner sees what a model would read, with invisible characters as escapes. The message is a background task
in the owner's DM, under a key of the list and the owner, so that it is sent once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice
from typing import Any

from daemon.actions.approvals import in_code_block
from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.errors import PostFailed
from daemon.kinds import BackgroundTask, BranchAnswer, QuestionAsked, RecordedTool, ToolsListed
from daemon.prompts.elements import parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.tools.tool_approvals import CHANGED_MEANWHILE
from daemon.tools.tool_catalogue import ToolCatalogue, read_rules
from daemon.tools.tool_definitions import definition_text
from daemon.turn.turn import TurnDependencies

log = logging.getLogger(__name__)

VETTING = "vetting"
"""Process that shows owners what has changed."""

TOLD_KEY = "tools-changed:"
"""Beginning of the keys of the tasks that tell owners."""

SECONDS_TO_RETRY = 600.0
"""Seconds until an owner whose DM could not be opened is told again."""

MIN_PAUSE = 600.0
"""Least seconds between two messages to an owner about the same server."""

MOST_COMPARED = 3_000
"""Lines of two definitions that are compared; longer ones are shown whole."""

CONTEXT_LINES = 2

VOID = "question void"
"""Meaning of the label that a question shows once it is void."""

ELLIPSIS = "…"
"""Stands for lines that do not differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTool:
    """A tool whose definition differs from the one last offered; `before` is None for a new tool."""

    now: RecordedTool
    before: RecordedTool | None

    def difference(self) -> str:
        """Return the lines that differ, with `+` and `-`, safe within a code block."""
        return "\n".join(in_code_block(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        now = definition_text(self.now).split("\n")
        before = definition_text(self.before).split("\n") if self.before else []
        if len(now) + len(before) > MOST_COMPARED:
            yield from (f"-{line}" for line in before)
            yield from (f"+{line}" for line in now)
        else:
            # the first three lines name the files and the first hunk; others begin with a space, `+` or `-`
            for line in islice(unified_diff(before, now, lineterm="", n=CONTEXT_LINES), 3, None):
                yield ELLIPSIS if line.startswith("@@") else line


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNews:
    """News of a server's list for owners. Without `is_trusted`, the changed tools wait for their consent."""

    server: str
    is_trusted: bool
    changed: Sequence[ChangedTool] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changed or self.left_out)


def news_of(catalogue: ToolCatalogue, listed: Entry[ToolsListed], since: int) -> ListNews:
    """Compare a list with the list `since` (seq) of its server; of the first, only `left_out` is news.

    Later entries change nothing of it.
    """
    event, last = listed.event, catalogue.list_at(listed.event.server, since)
    is_trusted = read_rules(event.rules).trusted
    if last is None or last.seq == listed.seq:
        return ListNews(server=event.server, is_trusted=is_trusted, left_out=event.left_out)
    told = {(tool.name, tool.digest) for tool in last.event.tools}
    offered_until = last.seq + 1 if is_trusted else listed.seq
    changed = list[ChangedTool]()
    for tool in event.tools:
        before = catalogue.last_accepted(tool.name, offered_until)
        is_same = before is not None and before.digest == tool.digest
        is_only_added = before is None and is_trusted
        if (tool.name, tool.digest) not in told and not is_same and not is_only_added:
            changed.append(ChangedTool(now=tool, before=before))
    left_out = {name: why for name, why in event.left_out.items() if last.event.left_out.get(name) != why}
    return ListNews(server=event.server, is_trusted=is_trusted, changed=changed, left_out=left_out)


class ToolListWatch:
    """Follower of new lists: it ends questions that they make void, and tells the owners.

    `wake` is called with each thread that has something to do then.
    """

    def __init__(self, deps: TurnDependencies, catalogue: ToolCatalogue, wake: Callable[[str], None]) -> None:
        self._deps = deps
        self._catalogue = catalogue
        self._wake = wake

    async def run(self) -> None:
        """Follow new lists until cancelled."""
        while True:
            self._catalogue.recorded.clear()
            pause: float | None = SECONDS_TO_RETRY
            try:
                await self._void_questions()
                pause = await self._tell_owners()
            except JournalError as error:
                log.info("Could not follow a new list of tools, which is tried again: %s", error)
            await self._wait(pause)

    async def _wait(self, pause: float | None) -> None:
        """Wait for a new list, at most for a pause (seconds)."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._catalogue.recorded.wait())]
        if pause is not None:
            waits.append(asyncio.ensure_future(self._deps.clock.sleep(pause)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _tell_owners(self) -> float | None:
        """Record a task for each owner who has not been told; return the seconds until the next try."""
        pauses = [await self._tell_of(listed) for listed in self._catalogue.lists()]
        return min((pause for pause in pauses if pause is not None), default=None)

    async def _tell_of(self, listed: Entry[ToolsListed]) -> float | None:
        server = listed.event.server
        last = self._deps.journal.last_entry_under(f"{TOLD_KEY}{server}:")
        since, is_told = self._catalogue.first_list(server), False
        if last:
            told = _told_list(last)
            is_told = told == listed.seq  # a crash may have kept it from other owners
            since = last.event.params.get("since", since) if is_told else told
        if not news_of(self._catalogue, listed, since):
            return None
        if last and not is_told:
            left = MIN_PAUSE - (self._deps.clock.now() - last.at)
            if 0 < left <= MIN_PAUSE:
                return left
        params = {"list": listed.seq, "since": since}
        done = [await self._tell(owner, _told_key(listed, owner), params) for owner in self._deps.owners]
        return None if all(done) else SECONDS_TO_RETRY

    async def _tell(self, owner: str, key: str, params: Mapping[str, Any]) -> bool:
        if self._deps.journal.get(key):
            return True
        try:
            thread = await self._deps.speaker.open_dm(owner, _no_check)
        except PostFailed as error:
            log.warning("Could not open the DM with %s, who is told later of changed tools: %s", owner, error)
            return False
        task = BackgroundTask(process=VETTING, params=params)
        await self._deps.journal.append(thread, task, key=key, author="core", cause=params["list"])
        self._wake(thread)
        return True

    async def _void_questions(self) -> None:
        """Answer open questions about definitions that are over, so that their executions go on without."""
        for asked in self._deps.journal.pending_entries(QuestionAsked):
            if asked.event.said and _is_void(self._catalogue, asked.event.about):
                labels = parse_labels(self._deps.texts.newest_text(LABELS_TEXT))
                text = f"[{labels.get(VOID, VOID)}]"
                void = BranchAnswer(answers=asked.key, value=CHANGED_MEANWHILE, by="", text=text)
                key = f"void:{asked.key}"
                await self._deps.journal.append(asked.thread, void, key=key, author="core", cause=asked.seq)
                self._wake(asked.thread)


def _told_key(listed: Entry[ToolsListed], owner: str) -> str:
    return f"{TOLD_KEY}{listed.event.server}:{listed.seq}:{owner}"


def _told_list(task: Entry[Any]) -> int:
    """Return the seq of the list that a task tells of. Its key has it, even if its words are forgotten."""
    return int(task.key.split(":")[2])


def _is_void(catalogue: ToolCatalogue, about: Mapping[str, Any]) -> bool:
    """True if a call would be of another definition, or if no definition in the question still waits."""
    match about:
        case {"action": str(name), "version": version} if catalogue.has_server_of(name):
            newest = catalogue.newest(name)
            return newest is None or newest.tool.digest != version
        case {"tools": [*definitions]}:
            waiting = {(one.offered.name, one.offered.tool.digest) for one in catalogue.waiting()}
            return waiting.isdisjoint((name, digest) for name, digest in definitions)
    return False


async def _no_check() -> None:
    """Do nothing instead of a check of the lease: the task's key prevents duplicates."""
