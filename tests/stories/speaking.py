"""Helpers for unprompted messages of the inner life."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.actions.action import ActionDefinition
from daemon.app.discovery import PROCESSES
from daemon.inner_life.commands.message_commands import mesh_commands, message_commands
from daemon.inner_life.recipients import RecipientDirectory, ShareableRecord
from daemon.ism import ActionRefused
from daemon.kinds import CommandRan, ConversationOpened, UnpromptedMessage, thread_key
from daemon.knowledge.bot_traffic import BotTraffic
from daemon.knowledge.visibility import KnownChannels, Visibility
from daemon.memory import WorkingMemory
from daemon.process import Turn
from rehearsal.people import ECHO, TEAM
from tests.stories.stage import GENERAL, Stage

LAST = "last"
"""View of the conversation that gave the command."""


async def beep(stage: Stage, text: str, root: str | None = None) -> str:
    """Post as Echo and settle; return the ts."""
    client = stage.client("alice")
    client.token = ECHO.bot_token
    said = await client.chat_postMessage(channel=GENERAL, text=text, thread_ts=root)
    await heard_out(stage)
    return str(said["ts"])


async def heard_out(*stages: Stage) -> None:
    """Wait until bots' messages are complete and handled."""

    def whole() -> bool:
        return not any(stage.pending("may-grow") for stage in stages)

    while True:
        was_whole = whole()
        for stage in stages:
            await stage.settled()
        if was_whole and whole():  # messages completed meanwhile begin a turn
            return
        await stages[0].passing(1, whole)


def thread_of(stage: Stage, channel: str, ts: str) -> str:
    """Return a conversation's thread; empty ts: the top of the channel."""
    found = stage.soul.journal.get(thread_key(TEAM, channel, ts))
    assert found, "nothing was said there"
    return found.thread


async def wanted(
    stage: Stage, thread: str, text: str, *, to: str = "", place: str = "", view: str = ""
) -> None:
    """Record a wish to speak; with `to`, an owner is asked first."""
    event = UnpromptedMessage(text=text, by=7, to=to or thread, place=place, leave=bool(to), view=view)
    key = f"wanted:{len(stage.entries('to-say'))}"
    await stage.soul.journal.append(thread, event, key=key, author="soul")
    stage.soul.worker.wake(thread)


async def has_said(stage: Stage, thread: str, text: str) -> None:
    await wanted(stage, thread, text)
    await stage.settled()


async def top(stage: Stage, channel: str) -> str:
    return await stage.soul.slack.doors.channel_thread(channel)


def became(stage: Stage) -> list[str]:
    return [entry.event.outcome for entry in stage.entries("said-out")]


@dataclass(kw_only=True)
class Carrying:
    """Implements inner/carrying_out.py's Tick in a conversation."""

    turn: Turn
    id: int
    view: str
    views: Visibility
    now: float


@dataclass(kw_only=True)
class Commands:
    """Process that runs the given inner commands.

    `view`: thread in view; `records`: those that may be shared.
    """

    stage: Stage
    view: str = LAST
    daily: int = 10
    neighbours: frozenset[str] = frozenset()
    mesh: int = 20
    records: Sequence[ShareableRecord] = ()
    given: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    held: asyncio.Event | None = None
    """Event before each record."""

    def plays(self) -> None:
        """Use this process from the next start."""
        process = replace(PROCESSES["conversation"], run=self.run)
        self.stage.processes = {**PROCESSES, "conversation": process}

    async def run(self, turn: Turn) -> WorkingMemory:
        journal = self.stage.soul.journal
        known = {one.name: one for one in self.definitions()}
        view = turn.thread if self.view == LAST else self.view
        seq = turn.answers[0].seq
        tick = Carrying(
            turn=turn, id=seq, view=view, views=Visibility(KnownChannels(journal)), now=turn.began_at
        )
        for number, (name, args) in enumerate(self.given):
            one = known[name]
            assert one.args
            ok, text = True, ""
            try:
                text = (await one.perform(tick, one.args(**args))).text
            except ActionRefused as refused:
                ok, text = False, str(refused)
            if self.held:
                await self.held.wait()
            await turn.record(
                CommandRan(tick=seq, cmd_id=str(number), name=name, args=args, ok=ok, text=text)
            )
        return turn.memory

    def definitions(self) -> Sequence[ActionDefinition]:
        journal, clock = self.stage.soul.journal, self.stage.clock
        doors = self.stage.soul.slack.doors
        meetings = BotTraffic(journal, clock, self.mesh, KnownChannels(journal))
        reach = RecipientDirectory(journal, clock, doors, self.neighbours, meetings)

        async def records(ids: Sequence[int]) -> Sequence[ShareableRecord]:
            return [one for one in self.records if one.id in ids]

        return [
            *message_commands(reach, daily_messages=self.daily),
            *mesh_commands(reach, records, daily_calls=self.mesh),
        ]

    async def carry_out(self, name: str, **args: Any) -> tuple[bool, str]:
        """Run a command for Carol; return success and result."""
        self.given = [(name, args)]
        await self.stage.say("carol", "D0CAROL0001", "now")
        *_, ran = self.stage.entries("command")
        return ran.event.ok, ran.event.text


def places(stage: Stage) -> dict[str, str]:
    """Return the channel of each thread."""
    return {entry.thread: entry.event.channel for entry in stage.entries("thread")}


def opened(stage: Stage, thread: str) -> ConversationOpened:
    found = stage.soul.journal.latest_of_kind(thread, ConversationOpened)
    assert found
    return found.event
