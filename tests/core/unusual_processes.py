"""Processes and model scripts with one unusual behaviour each, which the docstring names."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.engine.event import Entry
from daemon.kinds import CardIntended, MemoryNote, PlanChanged
from daemon.memory import WorkingMemory
from daemon.mind.pipeline import claim_newcomers, converse
from daemon.model import ModelReply
from daemon.process import Transition, Turn
from daemon.processes.conversation import COGNITIVE_STEPS
from daemon.processes.greeting import COGNITIVE_STEPS as GREETING_STEPS
from daemon.turn.plan_card import show_plan
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say, start_speech
from daemon.turn.turn import Process
from tests.core.file_world import FileEarlier, echo, said
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint
from tests.crashes.worker_runs import count_runs


def acting(home: Path) -> Mapping[str, Process]:
    """Run an effect that must not repeat."""
    return _deleting(home, {})


def acting_anew(home: Path) -> Mapping[str, Process]:
    """Change its arguments in later runs."""
    return _deleting(home, {} if count_runs(home) == 1 else {"how": "thoroughly"})


def _deleting(home: Path, args: Mapping[str, str]) -> Mapping[str, Process]:
    async def delete() -> str:
        KillPoint.reach()
        append_line(home / "effects.jsonl", "deleted")
        KillPoint.reach()
        return "deleted"

    async def conversation(turn: Turn) -> WorkingMemory:
        if "<note>" in str(turn.memory.conversation):
            return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Result: I do not know")))
        done = await turn.effect("delete", args, delete, repeatable=False)
        memory = turn.memory.with_memory(entry_as_memory(done))
        spoken = await say(turn, f"Result: {done.event.text.partition(':')[0]}")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {"conversation": conversation}


def looking(_home: Path) -> Mapping[str, Process]:
    """Run a repeatable effect."""

    async def look() -> str:
        KillPoint.reach()
        return "seen"

    async def conversation(turn: Turn) -> WorkingMemory:
        done = await turn.effect("look", {}, look, repeatable=True)
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, f"Result: {done.event.text}")))

    return {"conversation": conversation}


FIRST = f"First: {'the ferry leaves at nine, ' * 9}"
SECOND = f"Second: {'the pier is closed today, ' * 9}"


def speaking_beside(_home: Path) -> Mapping[str, Process]:
    """Speak in two parallel contexts."""

    async def say(turn: Turn, text: str) -> Sequence[Entry[Any]]:
        speech = start_speech(turn)
        for end in range(40, len(text), 40):
            await speech.update(text[:end])
            await asyncio.sleep(0)
        return await speech.finish(text)

    async def conversation(turn: Turn) -> WorkingMemory:
        spoken = await turn.run_beside([partial(say, text=FIRST), partial(say, text=SECOND)])
        return turn.memory.with_memory(*map(entry_as_memory, chain.from_iterable(spoken)))

    return {"conversation": conversation}


def stubborn(home: Path) -> Mapping[str, Process]:
    """Fail in the effect, each time."""

    async def fail() -> str:
        append_line(home / "wrong.jsonl", "tried")
        raise LookupError("stubborn")

    async def conversation(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(entry_as_memory(await turn.effect("try", {}, fail, repeatable=True)))

    return {"conversation": conversation}


def poisonous(home: Path) -> Mapping[str, Process]:
    """Fail, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await turn.record(MemoryNote(text="this will go wrong"))
        append_line(home / "wrong.jsonl", turn.thread)
        raise LookupError("poison")

    return {"conversation": conversation}


def deadly(_home: Path) -> Mapping[str, Process]:
    """Kill the daemon, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def dying(_home: Path) -> Mapping[str, Process]:
    """Answer, then kill the daemon, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await converse(turn, COGNITIVE_STEPS)
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def stammering(_home: Path) -> Mapping[str, Process]:
    """Kill the daemon within a sentence, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await start_speech(turn).update("You said")
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def check_ended_as_failed(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "journal.db")) as database:
        rows = database.execute("select body from entry where kind = 'turn-ended'").fetchall()
    outcomes = [json.loads(body)["outcome"] for (body,) in rows]
    assert outcomes == ["failed"], f"it ended as {outcomes}"


def away(seen: str, calls: int) -> ModelReply:
    """Fail one call."""
    return (
        ModelReply(outcome="failed", model="echo", failure="overloaded") if calls < 1 else echo(seen, calls)
    )


def outage(_seen: str, calls: int) -> ModelReply:
    """Fail two calls within a sentence."""
    if calls < 2:
        return ModelReply(
            outcome="failed", model="echo", failure="unreachable", text="<aside>hm</aside><say>I was abou"
        )
    return echo(_seen, calls)


def long_outage(seen: str, calls: int) -> ModelReply:
    """Fail three calls."""
    return (
        ModelReply(outcome="failed", model="echo", failure="overloaded") if calls < 3 else echo(seen, calls)
    )


def refusing_once(home: Path) -> FileEarlier:
    return FileEarlier(home, refusals=1)


def refusing(seen: str, calls: int) -> ModelReply:
    """Refuse the first call."""
    if calls == 0:
        return ModelReply(
            outcome="refused", model="echo", text="<aside>x</aside><say>I cann", stop_reason="refusal"
        )
    return ModelReply(outcome="ok", model="echo", text="Here, untagged.", stop_reason="end_turn")


def fickle(seen: str, calls: int) -> ModelReply:
    """Answer once; stay silent when asked again."""
    return said("A first thought.") if calls == 0 else said("")


LONG = " ".join(f"{n} bottles of beer," for n in range(13))
"""Text of more than two messages."""
BRIEF = "On second thoughts, there is little to tell."


def shorter(seen: str, calls: int) -> ModelReply:
    """Answer at length once, then briefly."""
    return said(LONG) if calls == 0 else said(BRIEF)


def breaking(seen: str, calls: int) -> ModelReply:
    """Break off the first call in its second message."""
    if calls == 0:
        return ModelReply(outcome="failed", model="echo", failure="broken-stream", text=f"<say>{LONG}")
    return said(BRIEF)


def brief(seen: str, calls: int) -> ModelReply:
    return said(BRIEF)


def check_given_up(home: Path) -> None:
    tried = len(read_lines(home / "wrong.jsonl"))
    assert tried <= 6 + count_runs(home), f"a poisonous message was tried {tried} times"


def deciding(_home: Path) -> Mapping[str, Process]:
    """Let the model choose the next process."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        said = await converse(turn, ["internal_monologue", "external_dialogue", "next_process"])
        return Transition(to=said.values["next_process"], memory=said.memory)

    async def closing(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Goodbye.")))

    return {"conversation": conversation, "closing": closing}


def endless(_home: Path) -> Mapping[str, Process]:
    """Hand over between two processes forever."""

    def leaving(to: str) -> Process:
        async def process(turn: Turn) -> Transition:
            return Transition(to=to, memory=turn.memory, execute_now=True)

        return process

    return {"conversation": leaving("other"), "other": leaving("conversation")}


def going(_last: str, _calls: int) -> ModelReply:
    raw = "<aside>Time to go.</aside><say>One more thing.</say><next>closing</next>"
    return ModelReply(outcome="ok", model="echo", text=raw, stop_reason="end_turn")


def rewritten(home: Path) -> Mapping[str, Process]:
    """Ask differently in later runs."""

    async def conversation(turn: Turn) -> WorkingMemory:
        return (await converse(turn, COGNITIVE_STEPS, "Be brief.")).memory

    return PROCESSES if count_runs(home) == 1 else {"conversation": conversation, "greeting": conversation}


def reworded(home: Path) -> Mapping[str, Process]:
    """Greet with another prompt in later runs."""

    async def greeting(turn: Turn) -> Transition:
        await claim_newcomers(turn)
        said = await converse(turn, GREETING_STEPS, "Be brief.")
        return Transition(to="conversation", memory=said.memory)

    return PROCESSES if count_runs(home) == 1 else {**PROCESSES, "greeting": greeting}


def planned(condition: str, done: int) -> PlanChanged:
    steps = [(f"step {n}", "done" if n < done else "open") for n in range(3)]
    return PlanChanged(condition=condition, steps=tuple(steps))


def planning(_home: Path) -> Mapping[str, Process]:
    """Update the plan around a message; complete it in turn two."""

    async def conversation(turn: Turn) -> WorkingMemory:
        again = "Begun." in str(turn.memory.conversation)
        await show_plan(turn, planned("all is told", 1 if again else 0))
        spoken = await say(turn, "Done." if again else "Begun.")
        await show_plan(turn, planned("all is told", 3 if again else 1))
        return turn.memory.with_memory(*map(entry_as_memory, spoken))

    return {"conversation": conversation}


def replanning(home: Path) -> Mapping[str, Process]:
    """Change the plan in later runs."""
    condition = "all is told" if count_runs(home) == 1 else "nothing is left"

    async def conversation(turn: Turn) -> WorkingMemory:
        restarted = "<note>" in str(turn.memory.conversation)
        await show_plan(turn, planned(condition, 2))
        spoken = await say(turn, "I do not know" if restarted else "Done.")
        return turn.memory.with_memory(*map(entry_as_memory, spoken))

    return {"conversation": conversation}


def ticking_off(_home: Path) -> Mapping[str, Process]:
    """Kill the daemon during a card update, each time."""

    async def conversation(turn: Turn) -> WorkingMemory:
        await say(turn, "Done.")
        await turn.record(CardIntended(condition="all is told"))
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {"conversation": conversation}


def departing(_home: Path) -> Mapping[str, Process]:
    """Alternate processes, with a new card each turn."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        return Transition(to="planning", memory=turn.memory, execute_now=True)

    async def plan(turn: Turn) -> WorkingMemory | Transition:
        said = str(len(turn.memory.conversation))
        await show_plan(turn, planned(said, 0))
        await show_plan(turn, planned(said, 3))
        return Transition(to="conversation", memory=turn.memory)

    return {"conversation": conversation, "planning": plan}


def check_single_effect(home: Path) -> None:
    assert len(read_lines(home / "effects.jsonl")) <= 1, "effect doubled"
