"""Built-in actions: AskPerson, Escalate, Schedule, SearchMemory, ReadThread, Remember, Research, Think,
Respond.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from daemon.actions.action import ActionContext, Outcome, RunContext
from daemon.actions.function import Expert, action
from daemon.answers.speech_gate import spoken_text
from daemon.ism import FinishRun
from daemon.kinds import REMINDER, MemoryNote, ReminderFired
from daemon.knowledge.library import MOST_NAMED_FILES
from daemon.knowledge.search import FoundMessage, MessageSearch
from daemon.mind.pipeline import converse
from daemon.mind.steps import instruction
from daemon.ports import Library
from daemon.prompts.chooser import ISMResult
from daemon.prompts.elements import clean_name_text
from daemon.turn.branches import set_reminder
from daemon.turn.input_policy import EXPERT_PROCESS
from daemon.turn.questions import Question, ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say

MINUTE = 60.0


YEAR = 525_600
"""Minutes of a year: the latest time of a reminder."""


@action(name="AskPerson", exclusive=True)
async def ask_person(
    run: RunContext,
    question: Annotated[str, Field(min_length=1, max_length=2_000), "the question, as it is to be read"],
) -> str:
    """Ask them something that only they can tell you, and wait for their answer."""
    words = spoken_text(question)
    if not words:
        raise ValueError("a question that someone is to answer needs words")
    answered = await ask(run.turn, "ask", Question(text=words, to=run.turn.people))
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
    await set_reminder(run.turn, timer, minutes * MINUTE)
    return f"{run.label('reminder set, in minutes')}: {minutes}"


@action(name="Escalate", terminal=True)
async def escalate(run: RunContext, expert: Expert) -> Outcome:
    """Hand it on to someone who knows more, where you cannot do it well. Ends your work."""
    if expert:
        return ISMResult(next_process=EXPERT_PROCESS)
    if run.turn.owners:
        words = run.prompt("prompts/sentences/escalated", owner=f"<@{run.turn.owners[0]}>")
    else:
        words = run.prompt("prompts/sentences/escalated_to_nobody")
    spoken = await say(run.turn, words)
    run.report_told(run.memory.with_memory(*map(entry_as_memory, spoken)))
    return FinishRun()


MOST_QUERY = 400


MOST_TEXT = 4_000


MOST_NAME = 200


MOST_PAGES = 1_000_000


LETTERS = 600
"""Most characters of each message that is shown."""


@action(name="SearchMemory", effect=True)
async def search_memory(
    run: ActionContext,
    memories: MessageSearch,
    query: Annotated[str, Field(min_length=1, max_length=MOST_QUERY), "a few words that may have been said"],
) -> str:
    """Search your notes, and what was said to you and by you in other conversations, as far as it may be
    known here.
    """
    found = await memories.search(query, run.turn.thread, _in_sight(run))
    return _found_text(run, memories, [f"{said.place}, {_line(said)}" for said in found])


@action(name="ReadThread", effect=True)
async def read_thread(
    run: ActionContext,
    memories: MessageSearch,
    back: Annotated[
        int, Field(ge=1, le=MOST_PAGES), "which page: 1 is the one just before what you see, 2 before that"
    ] = 1,
) -> str:
    """Read what was said in this conversation before what you see of it, a page at a time."""
    found = await memories.earlier_page(run.turn.thread, _in_sight(run), back)
    return _found_text(run, memories, [_line(said) for said in found])


@action(name="Remember")
async def remember(
    run: ActionContext,
    text: Annotated[
        str,
        Field(min_length=1, max_length=MOST_TEXT),
        "what to remember, so that it can be understood alone",
    ],
    about: Annotated[
        str, Field(max_length=MOST_NAME), "the name of whom it is about, if it is about someone"
    ] = "",
) -> str:
    """Keep something for later: SearchMemory finds it wherever what is said here may be known."""
    await run.turn.record(MemoryNote(text=text, about=about))
    return run.label("noted")


def _in_sight(run: ActionContext) -> int:
    return min(run.memory.seqs, default=2**62)


def _found_text(run: ActionContext, memories: MessageSearch, lines: Sequence[str]) -> str:
    shown = [*lines]
    if not shown:
        shown.append(run.label("nothing found"))
    if memories.is_behind:
        shown.append(run.label("not all searched"))
    return "\n".join(shown)


def _line(said: FoundMessage) -> str:
    text = said.text
    if len(text) > LETTERS:
        text = f"{text[:LETTERS]}…"
    return f"{datetime.fromtimestamp(said.at, UTC):%Y-%m-%d %H:%M}, {_who(said)}: {text}"


def _who(said: FoundMessage) -> str:
    name = clean_name_text(said.name)
    if said.kind != "remembered":
        return name or "you"
    if name:
        return f"your note about {name}"
    return "your note"


@action(name="Research", effect=True)
async def research(
    run: ActionContext,
    library: Library,
    query: Annotated[
        str, Field(min_length=1, max_length=MOST_QUERY), "a few words that stand in the text, in its language"
    ],
) -> str:
    """Search the files that your owner gave you to know; the answer is paragraphs of them that you have not
    been shown yet, each line with its path and number.
    """
    known = 0

    def is_new(passage: str) -> bool:
        nonlocal known
        if run.is_new(passage):
            return True
        known += 1
        return False

    found = await library.search(query, is_new)
    nothing = "nothing new found" if known else "nothing found"
    told = [found or run.label(nothing)]
    unsearched = await library.unsearched(query if found else "")
    if unsearched:
        named = ", ".join(unsearched[:MOST_NAMED_FILES])
        more = "" if len(unsearched) <= MOST_NAMED_FILES else ", …"
        told.append(f"{run.label('not searched')}: {named}{more}")
    return "\n".join(told)


COGNITIVE_STEPS = ("external_dialogue", "emotional_state")


@action(name="Think")
async def think(run: RunContext) -> str:
    """Think it over by yourself: what is known, what is open, what would settle it."""
    words = run.prompt("prompts/think")
    _, thought = await instruction(run.turn, run.memory, words, name="think", role=run.role, ask=run.ask)
    return thought or run.label("no thought came of it")


@action(name="Respond", terminal=True)
async def respond(run: RunContext) -> Outcome:
    """Tell them what you have found out, or ask them what you need to know. Ends your work."""
    return await tell_people(run, "prompts/conclude")


async def tell_people(run: RunContext, guidance: str) -> Outcome:
    """Say the result to people in streamed speech, unless a stop comes first."""
    if await run.is_interrupted():
        return None
    words = run.prompt(guidance)
    said = await converse(
        run.turn, COGNITIVE_STEPS, words, memory=run.memory, notes=run.notes, role=run.role, bounded=False
    )
    run.report_told(said.memory, stopped=said.stopped)
    return FinishRun()
