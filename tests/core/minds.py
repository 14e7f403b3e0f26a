"""The minds of the stories: processes and scripts of the model that do one unusual thing each."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from daemon.memory import WorkingMemory
from daemon.mind.pipeline import converse
from daemon.mind.recall import remember
from daemon.process import Process, Transition, Turn
from daemon.processes import PROCESSES
from daemon.processes.conversation import COGNITIVE_STEPS
from daemon.reply import Reply
from tests.core.boundary import Boundary
from tests.core.outside import FileEarlier, echo, note, read, said


def acting(home: Path) -> Mapping[str, Process]:
    """A process with an effect that must not happen twice, between two calls of the model."""

    async def delete() -> str:
        Boundary.reach()
        note(home / "effects.jsonl", "deleted")
        Boundary.reach()
        return "deleted"

    async def conversation(turn: Turn) -> WorkingMemory:
        if "<note>" in str(turn.memory.conversation):
            return turn.memory.with_memory(*map(remember, await turn.say("Result: I do not know")))
        done = await turn.effect("delete", {}, delete, repeatable=False)
        memory = turn.memory.with_memory(remember(done))
        spoken = await turn.say(f"Result: {done.body['text'].partition(':')[0]}")
        return memory.with_memory(*map(remember, spoken))

    return {"conversation": conversation}


def looking(_home: Path) -> Mapping[str, Process]:
    """A process with an effect that may happen as often as it likes."""

    async def look() -> str:
        Boundary.reach()
        return "seen"

    async def conversation(turn: Turn) -> WorkingMemory:
        done = await turn.effect("look", {}, look, repeatable=True)
        return turn.memory.with_memory(*map(remember, await turn.say(f"Result: {done.body['text']}")))

    return {"conversation": conversation}


def stubborn(home: Path) -> Mapping[str, Process]:
    """A process with an effect that never comes off."""

    async def fail() -> str:
        note(home / "wrong.jsonl", "tried")
        raise LookupError("stubborn")

    async def conversation(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(remember(await turn.effect("try", {}, fail, repeatable=True)))

    return {"conversation": conversation}


def poisonous(home: Path) -> Mapping[str, Process]:
    """A process that never comes through."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await turn.once("thought", {"text": "this will go wrong"})
        note(home / "wrong.jsonl", turn.thread)
        raise LookupError("poison")

    return {"conversation": conversation}


def deadly(_home: Path) -> Mapping[str, Process]:
    """A process that takes the whole daemon with it, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def dying(_home: Path) -> Mapping[str, Process]:
    """A process that answers, and then takes the whole daemon with it, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await converse(turn, COGNITIVE_STEPS)
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def away(seen: str, calls: int) -> Reply:
    """Out of reach for one call."""
    return Reply(outcome="failed", model="echo", failure="overloaded") if calls < 1 else echo(seen, calls)


def outage(_seen: str, calls: int) -> Reply:
    """The model is out of reach for two calls, in the middle of a sentence."""
    if calls < 2:
        return Reply(
            outcome="failed", model="echo", failure="unreachable", text="<aside>hm</aside><say>I was abou"
        )
    return echo(_seen, calls)


def long_outage(seen: str, calls: int) -> Reply:
    """Out of reach for three calls."""
    return Reply(outcome="failed", model="echo", failure="overloaded") if calls < 3 else echo(seen, calls)


def refusing_once(home: Path) -> FileEarlier:
    """Slack does not show at first what was said before."""
    return FileEarlier(home, refusals=1)


def refusing(seen: str, calls: int) -> Reply:
    """Refuses what asks for a private section."""
    if calls == 0:
        return Reply(
            outcome="refused", model="echo", text="<aside>x</aside><say>I cann", stop_reason="refusal"
        )
    return Reply(outcome="ok", model="echo", text="Here, untagged.", stop_reason="end_turn")


def fickle(seen: str, calls: int) -> Reply:
    """Answers the first call; asked again after a crash, it would rather be silent."""
    return said("A first thought.") if calls == 0 else said("")


LONG = " ".join(f"{n} bottles of beer," for n in range(13))
"""More than two messages."""
BRIEF = "On second thoughts, there is little to tell."


def shorter(seen: str, calls: int) -> Reply:
    """Answers the first call at length; asked again after a crash, it is brief."""
    return said(LONG) if calls == 0 else said(BRIEF)


def brief(seen: str, calls: int) -> Reply:
    return said(BRIEF)


def given_up(home: Path) -> None:
    tried = len(read(home / "wrong.jsonl"))
    assert tried <= 6 + len(read(home / "lives.jsonl")), f"a poisonous message was tried {tried} times"


def deciding(_home: Path) -> Mapping[str, Process]:
    """The model names the next process, which answers the next message."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        said = await converse(turn, ["internal_monologue", "external_dialogue", "next_process"])
        return Transition(to=said.values["next_process"], memory=said.memory)

    async def closing(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(*map(remember, await turn.say("Goodbye.")))

    return {"conversation": conversation, "closing": closing}


def endless(_home: Path) -> Mapping[str, Process]:
    """Two processes, each of which leaves everything to the other."""

    def leaving(to: str) -> Process:
        async def process(turn: Turn) -> Transition:
            return Transition(to=to, memory=turn.memory, execute_now=True)

        return process

    return {"conversation": leaving("other"), "other": leaving("conversation")}


def going(_last: str, _calls: int) -> Reply:
    raw = "<aside>Time to go.</aside><say>One more thing.</say><next>closing</next>"
    return Reply(outcome="ok", model="echo", text=raw, stop_reason="end_turn")


def rewritten(home: Path) -> Mapping[str, Process]:
    """The usual process; since the second life its code asks otherwise."""

    async def conversation(turn: Turn) -> WorkingMemory:
        return (await converse(turn, COGNITIVE_STEPS, "Be brief.")).memory

    lives = len(read(home / "lives.jsonl"))
    return PROCESSES if lives == 1 else {"conversation": conversation, "greeting": conversation}


def once_effect(home: Path) -> None:
    assert len(read(home / "effects.jsonl")) <= 1, "effect doubled"
