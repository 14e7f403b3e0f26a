"""Helpers for the inner life."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry
from daemon.kinds import CommandRan, is_context, thread_key
from rehearsal.people import TEAM
from tests.inner_life.programs.workshop import shell
from tests.stories.stage import Stage

PAUSE = 60.0
"""Seconds between ticks by default."""
INNER = "## Your inner life"
"""Text in system prompts of ticks only."""
COMPARES = "Here are two answers of the same mind"
"""Beginning of the reflex's comparison."""
LASTS = shell('n=0; while [ -d "$PWD" ] && [ $n -lt 200 ]; do sleep 0.2; n=$((n + 1)); done')
"""Program that runs until its folder is gone."""
Command = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Request of a tick: `system` is stable, `text` all messages."""

    system: str
    text: str
    model: str

    def context(self, number: int) -> str:
        """Return one of the seed's seven contexts."""
        found = re.search(rf'<context n="{number}" name="\w+">\n(.*?)\n</context>', self.text, re.DOTALL)
        assert found, f"there is no context {number}"
        return found[1]

    @property
    def results(self) -> Mapping[str, tuple[str, str]]:
        """Results by command of the last tick: success and text."""
        found = re.findall(r'<result of="(.*?)" id=".*?" done="(\w+)">(.*?)</result>', self.text, re.DOTALL)
        return {name: (done, words) for name, done, words in found}

    def setting(self, name: str) -> str:
        lines = dict(line.partition(": ")[::2] for line in self.context(5).splitlines())
        return lines[name]


async def live(stage: Stage, **settings: Any) -> None:
    await stage.wake(inner_life_enabled=True, **settings)
    await stage.settled()


def thought(words: str, *commands: Command) -> str:
    """Return an answer with these commands."""
    lines = [json.dumps({"cmd_id": str(number), **one}) for number, one in enumerate(commands, 1)]
    section = "\n".join(["# Commands:", *lines, "# End of commands"]) if lines else ""
    return f"{words}\n\n{section}".strip()


def do(type: str, /, **args: Any) -> Command:
    """Return a command; `from_` means `from`."""
    return {"type": type, "args": {name.rstrip("_"): value for name, value in args.items()}}


def thinks(stage: Stage, words: str, *commands: Command) -> None:
    stage.model.say(thought(words, *commands), model="claude-sonnet*")


def compares(stage: Stage, *, new: bool) -> None:
    """Queue the result of a comparison."""
    stage.model.say(json.dumps({"new": new, "why": "So it seems."}), asks=COMPARES)


def shown(stage: Stage) -> list[Shown]:
    """Return the requests of all ticks."""
    return [*_shown(stage)]


def _shown(stage: Stage) -> Iterator[Shown]:
    for request in stage.model.requests:
        system = _text(request.get("system", ""))
        if INNER in system:
            messages = "\n".join(_text(message["content"]) for message in request["messages"])
            yield Shown(system=system, text=messages, model=request["model"])


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def lines(stage: Stage) -> list[str]:
    return [entry.event.outcome for entry in stage.entries("tick")]


async def passes(stage: Stage, seconds: float) -> None:
    """Leap in time, and settle."""
    await stage.clock.leap(seconds)
    await stage.soul.worker.sweep()
    await stage.settled()


async def tick(stage: Stage, seconds: float = PAUSE) -> Shown:
    """Run a tick; return its request."""
    before = len(shown(stage))
    await passes(stage, seconds)
    after = shown(stage)
    assert len(after) == before + 1, f"{len(after) - before} ticks asked the model"
    return after[-1]


async def does(stage: Stage, *commands: Command, words: str = "") -> Shown:
    """Run a tick with these commands and another; return the latter's request."""
    await did(stage, *commands, words=words)
    thinks(stage, unlike(len(shown(stage))))
    return await tick(stage)


async def did(stage: Stage, *commands: Command, words: str = "") -> list[Entry[CommandRan]]:
    """Run a tick with these commands; return their entries."""
    before = len(stage.entries("command"))
    thinks(stage, words or unlike(len(shown(stage))), *commands)
    await tick(stage)
    return stage.entries("command")[before:]


def unlike(number: int) -> str:
    """Return a unique text."""
    return " ".join(f"{number * 7919 + place * 104_729:x}" for place in range(12))


def conversation(stage: Stage, channel: str, ts: str) -> str:
    found = stage.soul.journal.get(thread_key(TEAM, channel, ts))
    assert found, "nothing was said there"
    return found.thread


def note_of(stage: Stage, text: str) -> int:
    """Return the id of the note with this text."""
    kinds = ("message", "heard", "noticed")
    entries = [entry for entry in stage.entries(*kinds) if not is_context(entry.key)]
    [found] = [entry.seq for entry in entries if text in entry.event.text]
    return found
