"""The stories that the crash harness tells: what happens outside, and what people may read in the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daemon.memory import WorkingMemory
from daemon.mind.pipeline import converse
from daemon.mind.recall import remember
from daemon.ports import Process, Reply, Transition, Turn
from daemon.processes import PROCESSES
from daemon.processes.conversation import COGNITIVE_STEPS
from tests.core.boundary import Boundary
from tests.core.outside import Event, Script, echo, note, read, said

LOST = "Forgive me, the words wouldn't come. Would you say that again, perhaps a little differently?"
UNREACHABLE = "I can't gather my thoughts right now"
FAILED = "Something in me went wrong"
CUT = "You said…"
"""The beginning of an answer, with an ellipsis."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A story: its events, the endings that it may honestly have, and what is unusual about its world."""

    events: Sequence[Event]
    endings: Sequence[Sequence[str]]
    script: Script = echo
    processes: Callable[[Path], Mapping[str, Process]] = lambda _home: PROCESSES
    changes: bool = False
    """The owner edits soul.md after each crash."""
    code: Sequence[str] = ("1",)
    """The code of each life; the last one stays."""
    max_attempts: int = 500
    last_phase: int = 0
    """Where time goes on after the last event."""
    price: float = 0.0
    """What a call costs; the day's budget is one and a half."""
    stops: bool = True
    """A pause can be told apart here: one thread, so that nothing is between `hold` and its effect."""
    extra: Callable[[Path], None] = field(default=lambda _home: None)


def acting(home: Path) -> Mapping[str, Process]:
    """A process with an effect that must not happen twice, between two calls of the model."""

    async def delete() -> str:
        Boundary.reach()
        note(home / "effects.jsonl", "deleted")
        Boundary.reach()
        return "deleted"

    async def conversation(turn: Turn) -> WorkingMemory:
        done = await turn.effect("delete", {}, delete, repeatable=False)
        memory = turn.memory.with_memory(remember(done))
        spoken = await turn.say(f"Result: {done.body['text'].partition(':')[0]}")
        return memory.with_memory(remember(spoken))

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


def outage(_seen: str, calls: int) -> Reply:
    """The model is out of reach for the first call, in the middle of a sentence."""
    if calls == 0:
        return Reply(
            outcome="failed", model="echo", failure="unreachable", text="<aside>hm</aside><say>I was abou"
        )
    return echo(_seen, calls)


def long_outage(seen: str, calls: int) -> Reply:
    """Out of reach for three calls."""
    return Reply(outcome="failed", model="echo", failure="overloaded") if calls < 3 else echo(seen, calls)


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


def given_up(home: Path) -> None:
    tried = len(read(home / "wrong.jsonl"))
    assert tried <= 6 + len(read(home / "lives.jsonl")), f"a poisonous message was tried {tried} times"


def deciding(_home: Path) -> Mapping[str, Process]:
    """The model names the next process, which answers the next message."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        said = await converse(turn, ["internal_monologue", "external_dialogue", "next_process"])
        return Transition(to=said.values["next_process"], memory=said.memory)

    async def closing(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(remember(await turn.say("Goodbye.")))

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


def dm(ts: int, text: str, **more: object) -> Event:
    return Event(ts=f"{ts}.000100", text=text, **more)  # type: ignore[arg-type]


SCENARIOS: Mapping[str, Scenario] = {
    "dm": Scenario(
        events=[dm(1, "hi tea"), dm(2, "and jazz", phase=1)],
        endings=[["You said: hi tea", "You said: and jazz"]],
    ),
    "burst": Scenario(
        events=[dm(1, "one"), dm(3, "three", during=1), dm(2, "two", during=1), dm(4, "four", phase=1)],
        endings=[["You said: one", "You said: two, three", "You said: four"]],
    ),
    "heard": Scenario(
        events=[
            dm(1, "context", heard=True, thread="c"),
            dm(2, "so?", thread="c"),
            dm(3, "aside", heard=True, thread="c", during=1),
            dm(4, "and now?", thread="c", phase=1),
        ],
        endings=[["You said: context, so?", "You said: aside, and now?"]],
    ),
    "two-threads": Scenario(
        events=[dm(1, "here", thread="a"), dm(2, "there", thread="b", during=1)],
        endings=[["You said: here", "You said: there"]],
        stops=False,
    ),
    "edited": Scenario(events=[dm(1, "hi")], endings=[["You said: hi"]], changes=True),
    "outage": Scenario(
        events=[dm(1, "hello")],
        endings=[
            ["I was abou …", UNREACHABLE, "You said: hello"],
            [UNREACHABLE, "You said: hello"],
            ["You said: hello"],
        ],
        last_phase=1,
        script=outage,
    ),
    "long-outage": Scenario(
        events=[dm(1, "a"), dm(2, "b", phase=1), dm(3, "c", phase=2), dm(4, "d", phase=3)],
        endings=[
            [UNREACHABLE, "You said: a, b, c, d"],
            [UNREACHABLE, "You said: a, b, c", "You said: d"],
            [UNREACHABLE, "You said: a, b", "You said: c", "You said: d"],
            ["You said: a", "You said: b", "You said: c", "You said: d"],
        ],
        script=long_outage,
    ),
    "last-money": Scenario(events=[dm(1, "hi")], endings=[["You said: hi"]], price=1.0),
    "next-process": Scenario(
        events=[dm(1, "hi"), dm(2, "bye", phase=1)],
        endings=[["One more thing.", "Goodbye."]],
        processes=deciding,
        script=going,
    ),
    "endless": Scenario(events=[dm(1, "hi")], endings=[[FAILED]], processes=endless),
    "refusal": Scenario(events=[dm(1, "hm")], endings=[["Here, untagged."]], script=refusing),
    "fickle": Scenario(
        events=[dm(1, "hm", address="follow-up")], endings=[["A first thought."], [LOST], []], script=fickle
    ),
    "effect": Scenario(
        events=[dm(1, "delete it")],
        endings=[["Result: deleted"], ["Result: outcome unknown"]],
        processes=acting,
        extra=once_effect,
    ),
    "poison": Scenario(
        events=[dm(1, "bad"), dm(2, "worse", phase=1)],
        endings=[[FAILED, FAILED]],
        processes=poisonous,
        max_attempts=40,
        extra=given_up,
    ),
    "deadly": Scenario(
        events=[dm(1, "bad")], endings=[[FAILED]], processes=deadly, max_attempts=5, stops=False
    ),
    "new-code": Scenario(
        events=[dm(1, "hi")],
        endings=[["You said: hi"], ["You said: after a break: hi"], [CUT, "You said: after a break: hi"]],
        processes=rewritten,
        code=("1", "2"),
    ),
}
