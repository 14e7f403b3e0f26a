"""AskPerson, Escalate, Schedule: what a soul does where it cannot go on by itself now."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from daemon.actions.action import Outcome, RunContext
from daemon.actions.function import Expert, action
from daemon.ism import FinishRun, ISMResult
from daemon.kinds import REMINDER, ReminderFired
from daemon.mind.recall import entry_as_memory
from daemon.mind.sections import spoken_text
from daemon.process import Question

MINUTE = 60.0
YEAR = 525_600
EXPERT = "expert"
"""The process that Escalate goes over into."""


@action(name="AskPerson", exclusive=True)
async def ask_person(
    run: RunContext,
    question: Annotated[str, Field(min_length=1, max_length=2_000), "the question, as it is to be read"],
) -> str:
    """Ask them something that only they can tell you, and wait for their answer."""
    words = spoken_text(question)
    if not words:
        raise ValueError("a question that someone is to answer needs words")
    answered = await run.turn.ask("ask", Question(text=words, to=run.turn.people))
    run.add_memories(answered.memories)
    return run.label("answered")


@action(name="Schedule")
async def schedule(
    run: RunContext,
    minutes: Annotated[int, Field(ge=1, le=YEAR), "in how many minutes from now"],
    text: Annotated[
        str, Field(min_length=1, max_length=2_000), "what it is about, so that it can be understood alone"
    ],
) -> str:
    """Set yourself a reminder in this conversation: when its time comes, you answer here again."""
    last = run.turn.answers[-1].event
    due = run.turn.began_at + minutes * MINUTE
    timer = ReminderFired(
        user=last.user,
        name=last.name,
        chosen=last.chosen,
        owner=last.owner,
        text=run.prompt("prompts/reminder", text=text),
        ts=f"{due:.6f}",
        note=REMINDER,
    )
    await run.turn.set_reminder(timer, minutes * MINUTE)
    return f"{run.label('reminder set, in minutes')}: {minutes}"


@action(name="Escalate", terminal=True)
async def escalate(run: RunContext, expert: Expert) -> Outcome:
    """Hand it on to someone who knows more, where you cannot do it well. Ends your work."""
    if expert:
        return ISMResult(next_process=EXPERT)
    if run.turn.owners:
        words = run.prompt("prompts/sentences/escalated", owner=f"<@{run.turn.owners[0]}>")
    else:
        words = run.prompt("prompts/sentences/escalated_to_nobody")
    spoken = await run.turn.say(words)
    run.report_told(run.memory.with_memory(*map(entry_as_memory, spoken)))
    return FinishRun()
