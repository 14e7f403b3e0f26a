"""Processes that look up and ask within an execution, as ISM runs do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.engine.event import Entry
from daemon.kinds import BackgroundTask, MemoryNote, PersonMessage, StopRequest
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.pipeline import converse
from daemon.model import ModelReply
from daemon.ports import Button
from daemon.process import Question, Transition, Turn
from daemon.processes.conversation import COGNITIVE_STEPS
from daemon.turn.branches import send_to_self
from daemon.turn.model_calls import call_model
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.core.file_world import LEARN, echo, said
from tests.core.unusual_processes import rewritten
from tests.crashes.json_lines import append_line
from tests.crashes.kill_points import KillPoint
from tests.crashes.worker_runs import count_runs

ROUNDS = 3
MAY_I = f"May I? It would be gone for good: {'the whole of it, ' * 20}and more."
WORDS = ("also", "go on", "long", "weather")


def interruptible_thinking(_home: Path) -> Mapping[str, Process]:
    """Think three times, taking inputs before each."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "long" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        memory = turn.memory
        for _ in range(ROUNDS):
            for came in await turn.receive_inputs():
                if isinstance(came.event, StopRequest):
                    turn.accept_inputs([came])
                    spoken = await say(turn, "Stopped.")
                    return memory.with_memory(entry_as_memory(came), *map(entry_as_memory, spoken))
                memory = await heard(turn, memory, came)
            thought = await call_model(turn, "think", memory, "fast")
            if thought.event.outcome == "cancelled":
                continue
            memory = memory.with_memory(entry_as_memory(thought))
        spoken = await say(turn, f"Thought of {of(memory)}")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {**PROCESSES, "conversation": conversation}


async def heard(turn: Turn, memory: WorkingMemory, came: Entry[PersonMessage]) -> WorkingMemory:
    """Judge an input by a call: add it, or wait until it is answered."""
    judge = working_memory([Memory(role="user", content="JUDGE"), entry_as_memory(came)])
    verdict = await call_model(turn, "judge", judge, "fast")
    if verdict.event.text == "more":
        turn.accept_inputs([came])
        return memory.with_memory(entry_as_memory(came))
    waiting = Question(text="One moment.", to=(came.author,), resumes=True, wait=900)
    answered = await ask(turn, "parked", waiting)
    return memory.with_memory(*answered.memories)


def of(memory: WorkingMemory) -> str:
    return ", ".join(word for word in WORDS if any(word in m.content for m in memory.conversation))


def thinking(last: str, calls: int) -> ModelReply:
    """Think; judge by a word."""
    if "JUDGE" in last:
        return ModelReply(outcome="ok", model="echo", text="new" if "weather" in last else "more")
    if "long" in last or "also" in last or "go on" in last:
        return ModelReply(outcome="ok", model="echo", text="Hm.")
    return echo(last, calls)


def careful(home: Path) -> Mapping[str, Process]:
    """Act with an owner's approval."""

    async def delete() -> str:
        KillPoint.reach()
        append_line(home / "effects.jsonl", "deleted")
        KillPoint.reach()
        return "deleted"

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "delete" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        thought = await call_model(turn, "think", turn.memory, "fast")
        memory = turn.memory.with_memory(entry_as_memory(thought))
        may = Question(
            text=MAY_I if "at length" in turn.answers[0].event.text else "May I?",
            to=turn.owners,
            choices=(Button(label="Yes", value="yes"), Button(label="No", value="no")),
        )
        name = "another" if "that" in turn.answers[0].event.text else "approval"
        answered = await ask(turn, name, may)
        memory = memory.with_memory(*answered.memories)
        if answered.value != "yes":
            spoken = await say(turn, "As you wish.")
            return memory.with_memory(*map(entry_as_memory, spoken))
        done = await turn.effect("delete", {}, delete, repeatable=False)
        again = await call_model(turn, "think", memory.with_memory(entry_as_memory(done)), "fast")
        heard = "; ".join(m.content for m in answered.memories if m.role == "user" and "keep" in m.content)
        spoken = await say(
            turn, f"Result: {done.event.text.partition(':')[0]}{' (' + str(len(heard) > 0) + ')'}"
        )
        return memory.with_memory(
            entry_as_memory(done), entry_as_memory(again), *map(entry_as_memory, spoken)
        )

    return {**PROCESSES, "conversation": conversation}


def deliberate(last: str, calls: int) -> ModelReply:
    """Think of deletions; echo other messages."""
    if "delete" in last:
        return ModelReply(outcome="ok", model="echo", text=f"T:{calls}")
    return echo(last, calls)


def asking(_home: Path) -> Mapping[str, Process]:
    """Ask twice, with a thought before each."""
    return _asking_after(())


def asking_anew(home: Path) -> Mapping[str, Process]:
    """Change the prompt in later runs."""
    if count_runs(home) == 1:
        return asking(home)
    return _asking_after([Memory(role="user", content="Be brief.")])


def _asking_after(told: Sequence[Memory]) -> Mapping[str, Process]:
    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "aside" in turn.answers[0].event.text:
            return (await converse(turn, COGNITIVE_STEPS)).memory
        memory, words = turn.memory.with_memory(*told), list[str]()
        for question in ("Which one?", "How many?"):
            thought = await call_model(turn, "think", memory, "fast")
            answered = await ask(turn, "ask", Question(text=question, to=tuple(turn.people)))
            memory = memory.with_memory(entry_as_memory(thought), *answered.memories)
            words.append(answered.value)
        spoken = await say(turn, f"So: {', '.join(words)}")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {**PROCESSES, "conversation": conversation}


def moving(home: Path) -> Mapping[str, Process]:
    """Move to a process that later runs lack."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        return Transition(to="moved", memory=(await converse(turn, COGNITIVE_STEPS)).memory)

    moved = {"moved": asking(home)["conversation"]} if count_runs(home) == 1 else {}
    return {**PROCESSES, "conversation": conversation, **moved}


def waiting(_home: Path) -> Mapping[str, Process]:
    """Wait for a time."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if "hi" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        first = await call_model(turn, "think", turn.memory, "fast")
        answered = await ask(turn, "rest", Question(wait=60))
        memory = turn.memory.with_memory(entry_as_memory(first), *answered.memories)
        spoken = await say(turn, f"Back: {answered.value or 'nobody'}")
        return memory.with_memory(*map(entry_as_memory, spoken))

    return {**PROCESSES, "conversation": conversation}


def remembering(_home: Path) -> Mapping[str, Process]:
    """Start a background task that acts by its last entry only."""
    return _remembering(PROCESSES["conversation"], LEARN)


def remembering_anew(home: Path) -> Mapping[str, Process]:
    """Change its prompts in later runs."""
    if count_runs(home) == 1:
        return remembering(home)
    return _remembering(rewritten(home)["conversation"], f"{LEARN} Be brief.")


def _remembering(answers: Process, learn: str) -> Mapping[str, Process]:
    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        outcome = await answers(turn)
        await send_to_self(turn, "after", BackgroundTask(process="learning"))
        return outcome

    async def learning(turn: Turn) -> WorkingMemory:
        if not await turn.receive_inputs():
            learned = await call_model(
                turn, "learn", turn.memory.with_memory(Memory(role="user", content=learn)), "fast"
            )
            if learned.event.outcome == "ok" and not await turn.receive_inputs():
                await turn.record(MemoryNote(text=learned.event.text))
        return working_memory(())

    return {**PROCESSES, "conversation": conversation, "learning": learning}


def failing_background_task(_home: Path) -> Mapping[str, Process]:
    """Start a background task that always fails."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        outcome = await PROCESSES["conversation"](turn)
        await send_to_self(turn, "after", BackgroundTask(process="learning"))
        return outcome

    async def learning(turn: Turn) -> WorkingMemory:
        await turn.record(MemoryNote(text="this will go wrong"))
        raise LookupError("poison")

    return {**PROCESSES, "conversation": conversation, "learning": learning}


def learned(last: str, calls: int) -> ModelReply:
    return said("L!") if LEARN in last else echo(last, calls)
