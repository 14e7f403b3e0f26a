"""Answer `!allowed`: list standing approvals of tools, and take them back; not remembered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from daemon.engine.kinds import StepResult
from daemon.kinds import IncomingMessage
from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.prompts.elements import clean_name_text
from daemon.tools.standing_approvals import (
    NumberedApproval,
    may_take_back,
    take_back,
    visible_approvals,
)
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.turn.speech import say_privately

TEXTS = "prompts/sentences/tools/allowed"

OFF = re.compile(r"allowed\s+(\d{1,6})\s+off", re.IGNORECASE)


async def allowing(turn: Turn, tools: ToolCatalogue | None = None) -> WorkingMemory:
    """Answer whoever asks, privately."""
    for asked in turn.answers:
        event = asked.event
        if isinstance(event, IncomingMessage) and not event.bot:
            words = await _answer(turn, tools, event)
            await say_privately(turn, "allowed", event.user, words)
    return working_memory(())


async def _answer(turn: Turn, tools: ToolCatalogue | None, asked: IncomingMessage) -> str:
    if tools is None:
        return turn.prompt(f"{TEXTS}_nothing")
    number = number_to_take_back(asked.text)
    if number:
        return await _take_back(turn, tools, asked.user, number)
    return await _listed(turn, tools, asked.user)


def number_to_take_back(text: str) -> int:
    """Return the number in a command `!allowed 2 off`; 0 if it asks for the list."""
    found = OFF.search(text)
    return int(found[1]) if found else 0


def _visible(turn: Turn, tools: ToolCatalogue, person: str) -> Sequence[NumberedApproval]:
    channel = turn.opened.event.channel if turn.opened else ""
    return visible_approvals(tools, person, channel, turn.owners)


async def _listed(turn: Turn, tools: ToolCatalogue, person: str) -> str:
    async def look(_: Turn) -> StepResult:
        lines = [await _line(turn, one) for one in _visible(turn, tools, person)]
        return StepResult(value="\n".join(lines))

    found = await turn.step("allowed-list", [person, turn.thread], look, StepResult)
    if found.event.value:
        return turn.prompt(TEXTS, approvals=found.event.value)
    return turn.prompt(f"{TEXTS}_nothing")


async def _line(turn: Turn, one: NumberedApproval) -> str:
    return turn.prompt(
        f"{TEXTS}_one",
        number=str(one.number),
        tool=one.tool,
        place=_place(turn, one),
        by=clean_name_text(await turn.speaker.name(one.by)) or one.by,
        date=f"{datetime.fromtimestamp(one.entry.at, UTC):%-d %B %Y}",
    )


def _place(turn: Turn, one: NumberedApproval) -> str:
    team = turn.opened.event.team if turn.opened else ""
    return turn.deps.people.places.channel_name(team, one.channel) or one.channel


async def _take_back(turn: Turn, tools: ToolCatalogue, person: str, number: int) -> str:
    async def end(_: Turn) -> StepResult:
        for one in _visible(turn, tools, person):
            if one.number == number and may_take_back(one, person, turn.owners):
                words = turn.prompt(f"{TEXTS}_off", tool=one.tool, place=_place(turn, one))
                await take_back(tools, one, person)
                return StepResult(value=words)
        return StepResult(value="")

    found = await turn.step("allowed-off", [person, number], end, StepResult)
    return found.event.value or turn.prompt(f"{TEXTS}_unknown", number=str(number))


PROCESS = MentalProcess(
    name="allowing",
    run=allowing,
    commands=("allowed",),
    called="someone asks with `!allowed`",
    texts={
        TEXTS: Placeholders({"approvals"}, "approvals"),
        f"{TEXTS}_one": Placeholders({"number", "tool", "place", "by", "date"}, "tool"),
        f"{TEXTS}_nothing": Placeholders(),
        f"{TEXTS}_off": Placeholders({"tool", "place"}, "tool"),
        f"{TEXTS}_unknown": Placeholders({"number"}),
    },
)
