"""Processes and models under outages, limits and repeated crashes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.engine.exceptions import ExecutionSuspended
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.ports import Button
from daemon.process import Question, Transition, Turn
from daemon.settings.limits import CONTINUE, Limits
from daemon.turn.model_calls import call_interruptibly, call_model
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.core.file_world import FileSlack, echo

THOUGHTS = 5


def thinking_in_outages(_home: Path) -> Mapping[str, Process]:
    """Think twice despite outages."""

    async def conversation(turn: Turn) -> WorkingMemory:
        memory = turn.memory
        for _ in range(2):
            memory, thought = await call_interruptibly(turn, "think", memory, "fast")
            memory = memory.with_memory(entry_as_memory(thought))
        spoken = await say(turn, "I have thought about it.")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {"conversation": conversation}


def asking_then_receiving(_home: Path) -> Mapping[str, Process]:
    """Ask an owner, then take other inputs."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "delete" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        may = Question(text="May I?", to=turn.owners, choices=(Button(label="Yes", value="yes"),))
        answered = await ask(turn, "approval", may)
        came = await turn.receive_inputs()
        turn.accept_inputs(came)
        spoken = await say(turn, f"Done: {', '.join(entry.event.text for entry in came)}")
        return turn.memory.with_memory(
            *answered.memories, *map(entry_as_memory, came), *map(entry_as_memory, spoken)
        )

    return {**PROCESSES, "conversation": conversation}


def always_away(_seen: str, _calls: int) -> ModelReply:
    """Break off within a sentence, each time."""
    text = "<aside>hm</aside><say>I was abou"
    return ModelReply(outcome="failed", model="echo", failure="unreachable", text=text)


def once_away(seen: str, calls: int) -> ModelReply:
    """Fail the first call."""
    return (
        ModelReply(outcome="failed", model="echo", failure="overloaded") if calls < 1 else echo(seen, calls)
    )


def often_away(seen: str, calls: int) -> ModelReply:
    """Fail two calls after the first."""
    return (
        ModelReply(outcome="failed", model="echo", failure="overloaded")
        if 0 < calls < 3
        else echo(seen, calls)
    )


def bounded(_home: Path) -> Mapping[str, Process]:
    """Ask an owner after two thoughts."""

    async def conversation(turn: Turn) -> WorkingMemory:
        memory, thoughts = turn.memory, 0
        while thoughts < THOUGHTS:
            if bound := await turn.limit(Limits(calls=2)):
                on, no = Button(label="Go on", value=CONTINUE), Button(label="Stop", value="stop")
                about = {"resets": bound.resets, "bound": bound.bound}
                more = Question(text="Shall I go on?", to=turn.owners, choices=(on, no), about=about)
                answered = await ask(turn, "more", more)
                memory = memory.with_memory(*answered.memories)
                if answered.value != CONTINUE:
                    break
            memory = memory.with_memory(entry_as_memory(await call_model(turn, "think", memory, "fast")))
            thoughts += 1
        spoken = await say(turn, f"Thoughts: {thoughts}")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {"conversation": conversation}


def handing_on(_home: Path) -> Mapping[str, Process]:
    """Continue as another process, which asks."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "one" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        thought = await call_model(turn, "think", turn.memory, "fast")
        spoken = await say(turn, "I am on it.")
        memory = turn.memory.with_memory(entry_as_memory(thought), *map(entry_as_memory, spoken))
        return Transition(to="asking", memory=memory, execute_now=True, params={"of": "them"})

    async def asking(turn: Turn) -> Transition:
        thought = await call_model(turn, "think", turn.memory, "fast")
        question = Question(text=f"Which of {turn.params['of']}?", to=tuple(turn.people))
        answered = await ask(turn, "ask", question)
        spoken = await say(turn, f"So: {answered.value}")
        memory = turn.memory.with_memory(
            entry_as_memory(thought), *answered.memories, *map(entry_as_memory, spoken)
        )
        return Transition(to="conversation", memory=memory)

    return {**PROCESSES, "conversation": conversation, "asking": asking}


def killing_after_the_answer(_home: Path) -> Mapping[str, Process]:
    """Kill the daemon after the answer, each time."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        await ask(turn, "ask", Question(text="Which one?", to=tuple(turn.people)))
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory

    return {**PROCESSES, "conversation": conversation}


class Deadly(Mapping[str, str]):
    """Mapping that kills the daemon when recorded after a message was posted."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __getitem__(self, name: str) -> str:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        if FileSlack(self._home).messages():
            os.kill(os.getpid(), signal.SIGKILL)
        return iter(())

    def __len__(self) -> int:
        return 0


def half_asked(home: Path) -> Mapping[str, Process]:
    """Kill the daemon between question and record, each time."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        yes = Button(label="Yes", value="yes")
        question = Question(text="May I?", to=tuple(turn.people), choices=(yes,), about=Deadly(home))
        await ask(turn, "ask", question)
        return turn.memory

    return {**PROCESSES, "conversation": conversation}


def withdrawing(_home: Path) -> Mapping[str, Process]:
    """Withdraw the question; kill the daemon before the buttons go."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if turn.answers[0].event.text == "one":
            choices = (Button(label="Yes", value="yes"),)
            await ask(turn, "ask", Question(text="May I?", to=tuple(turn.people), choices=choices))
        spoken = await say(turn, "Never mind.")
        assert isinstance(turn, Turn)
        await turn.ctx.withdraw()
        os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory.with_memory(*map(entry_as_memory, spoken))

    return {**PROCESSES, "conversation": conversation}


def killing_after_the_question(_home: Path) -> Mapping[str, Process]:
    """Ask and kill the daemon, each time."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        try:
            await ask(turn, "ask", Question(text="Which one?", to=tuple(turn.people), wait=60))
        except ExecutionSuspended:
            os.kill(os.getpid(), signal.SIGKILL)
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "After all, nobody knows.")))

    return {**PROCESSES, "conversation": conversation}
