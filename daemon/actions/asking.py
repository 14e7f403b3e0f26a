"""AskPerson, Escalate, Schedule: what a soul does where it cannot go on by itself now."""

from __future__ import annotations

from pydantic import Field

from daemon.actions.action import Args, Definition, Outcome, Run
from daemon.ism import Finish, ISMResult
from daemon.kinds import Timer
from daemon.mind.recall import remember
from daemon.mind.sections import spoken
from daemon.process import Question

MINUTE = 60.0
YEAR = 525_600
EXPERT = "expert"
"""The process that Escalate goes over into."""


class Asked(Args):
    """What to ask."""

    question: str = Field(description="the question, as it is to be read", min_length=1, max_length=2_000)


class Reminder(Args):
    """When, and of what."""

    minutes: int = Field(description="in how many minutes from now", ge=1, le=YEAR)
    text: str = Field(description="what it is about, so that it can be understood alone", min_length=1)


async def ask_person(run: Run, asked: Asked) -> str:
    """Asks, and waits for the answer without holding anything."""
    words = spoken(asked.question)
    if not words:
        raise ValueError("a question that someone is to answer needs words")
    question = Question(text=words, to=run.turn.people)
    answered = await run.turn.ask("ask", question)
    run.hear(answered.memories)
    return run.label("answered")


async def schedule(run: Run, reminder: Reminder) -> str:
    """A time that becomes a perception of this thread."""
    last = run.turn.answers[-1].event
    due = run.turn.began_at + reminder.minutes * MINUTE
    timer = Timer(
        user=last.user,
        name=last.name,
        text=run.words("prompts/reminder", text=reminder.text),
        ts=f"{due:.6f}",
        note="a reminder",
    )
    await run.turn.remind(timer, reminder.minutes * MINUTE)
    return f"{run.label('reminder set, in minutes')}: {reminder.minutes}"


def escalate(*, expert: bool) -> Definition:
    """To the expert, where there is one; else to an owner, in a sentence."""

    async def perform(run: Run, _args: object) -> Outcome:
        if expert:
            return ISMResult(next_process=EXPERT)
        owner = next((f"<@{owner}>" for owner in run.turn.owners), "")
        to = "escalated" if owner else "escalated_to_nobody"
        words = {"owner": owner} if owner else {}
        spoken = await run.turn.say(run.words(f"prompts/sentences/{to}", **words))
        run.told(run.memory.with_memory(*map(remember, spoken)))
        return Finish()

    return Definition(
        name="Escalate",
        description="Hand it on to someone who knows more, where you cannot do it well. Ends your work.",
        perform=perform,
        in_the_open=False,
        terminal=True,
    )


ASK_PERSON = Definition(
    name="AskPerson",
    description="Ask them something that only they can tell you, and wait for their answer.",
    perform=ask_person,
    in_the_open=False,
    args=Asked,
    exclusive=True,
)
SCHEDULE = Definition(
    name="Schedule",
    description="Set yourself a reminder in this conversation: when its time comes, you answer here again.",
    perform=schedule,
    in_the_open=False,
    args=Reminder,
)
