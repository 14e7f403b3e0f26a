"""How a cognitive step asks a model, and what becomes of it where no answer comes.

For whoever waits: `openly`, through outages, refusals, bounds and stops, of which people are told. Where
nobody waits: `quiet`, once. A run of the ISM brings a way of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from daemon.engine.event import Entry, of_kind, seqs_of
from daemon.kinds import (
    ContextCleared,
    IncomingMessage,
    ModelCall,
    PersonMessage,
    SpeechDropped,
    SpeechFinished,
    StopRequest,
    moment_of,
)
from daemon.memory import FORM, Memory, WorkingMemory, working_memory
from daemon.mind.consent import limit_that_refused, stop_at_limit
from daemon.mind.prompting import feeling, with_situation
from daemon.mind.recall import recall_kept
from daemon.mind.wording import fill_prompt
from daemon.ports import Role
from daemon.process import Speech, Turn

FENCE = "```"
Schema = Mapping[str, Any]
Came = tuple[WorkingMemory, Entry[ModelCall] | None]
"""The memory by then, and the answer; None where there is none."""
Ask = Callable[[str, WorkingMemory, str, Role, Schema | None, Sequence[str]], Awaitable[Came]]
"""Takes the name of the call, what is remembered, the question, the model, what the answer is held to, and
the texts that end it."""


async def ask_for_person(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    question: str,
    role: Role,
    schema: Schema | None = None,
    ends: Sequence[str] = (),
) -> Came:
    """Ask for somebody who waits. Where no answer comes they have been told why.

    An outage is waited for in the middle of the execution, a refusal goes to the model that stands in, at a
    bound an owner is asked. Raises what `Turn.ask` and `Turn.talk` raise.
    """
    while True:
        limited = await turn.limit()
        if limited is None:
            seen = with_situation(turn, memory).with_region("instruction", question)
            if schema is not None:
                seen = seen.without(FORM)  # it explains sections, and what is held to a schema has none
            async with turn.status_while(feeling(turn).status):
                grown, call = await turn.call_interruptibly(
                    name, seen, role, None, schema, stop_sequences=ends
                )
            memory = memory.with_memory(*grown.heard_since(seen))
            if call.event.is_usable:
                return memory, call
            match call.event.outcome:
                case "cancelled":
                    return await handle_stop(turn, memory, turn.speech(), call), None
                case "refused" if role != "fallback":
                    role = "fallback"
                    continue
                case "refused":
                    return await apologize(turn, without_refused_question(turn, memory)), None
                case "failed":
                    return await report_too_long(turn, memory), None
            limited = limit_that_refused(call)
        memory, on = await stop_at_limit(turn, memory, limited)
        if not on:
            return memory, None


def ask_in_background(turn: Turn, *, whole: bool = True) -> Ask:
    """A way to ask for nobody: once, of what is given alone, and what goes wrong is told to nobody.

    An answer counts where it is `whole`, or at any length.
    """
    return partial(_quietly, turn, whole)


async def _quietly(
    turn: Turn,
    whole: bool,
    name: str,
    memory: WorkingMemory,
    question: str,
    role: Role,
    schema: Schema | None = None,
    ends: Sequence[str] = (),
) -> Came:
    if await turn.limit():
        return memory, None
    seen = memory.with_region("instruction", question)
    call = await turn.call(name, seen, role, None, schema, stop_sequences=ends)
    if not call.event.is_usable or (whole and call.event.outcome != "ok"):
        return memory, None
    return memory, call


async def handle_stop(
    turn: Turn, memory: WorkingMemory, speech: Speech, call: Entry[ModelCall], heard: str = ""
) -> WorkingMemory:
    """Someone stopped this call: what it had begun to say ends there, and the stop is answered with that.

    What people have read of an earlier answer stays, and the stop is answered with a sentence. Only the first
    step after a stop sees it; what comes after that ends in silence.
    """
    came = await turn.receive_inputs()
    stops = of_kind(StopRequest, came)
    if not stops and (not heard or await turn.is_superseded_by_edit()):
        await speech.settle()
        return memory
    left = await speech.leave_as_is(heard, call)
    last = f"{heard} …"
    if left is not None or not heard:
        last = owner_sentence(turn, "stopped")
    ended = messages_stopped(stops, came)
    turn.accept_inputs(ended)
    spoken = await speech.finish(last)
    await turn.withdraw()
    words = [entry for entry in ended if entry.event.text]
    kept = [*words, *(left or ()), *posted_receipts(spoken)]
    return memory.with_memory(*recall_kept(kept, turn.tag_suffix))


def messages_stopped(
    stops: Sequence[Entry[StopRequest]], came: Sequence[Entry[PersonMessage]]
) -> list[Entry[PersonMessage]]:
    """Of what came, these stops, and what whoever said stop had said before, whichever of them came first.

    A command has a turn of its own, and a reminder still comes.
    """
    return [entry for entry in came if entry in stops or _is_ended(entry, stops)]


def _is_ended(said: Entry[PersonMessage], stops: Sequence[Entry[StopRequest]]) -> bool:
    if not isinstance(said.event, IncomingMessage) or said.event.command:
        return False
    for stop in stops:
        if stop.event.user == said.event.user and moment_of(stop.event.ts) > moment_of(said.event.ts):
            return True
    return False


async def apologize(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """There is no answer: whoever waits for one is told so."""
    if not turn.must_answer:
        return memory
    spoken = await turn.say(owner_sentence(turn, "lost_words"))
    return memory.with_memory(*recall_kept(posted_receipts(spoken), turn.tag_suffix))


async def report_too_long(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """No model took all of it, however much was left out: whoever waits is told what to do."""
    memory = await drop_too_long(turn, memory)
    if not turn.must_answer:
        return memory
    spoken = await turn.say(owner_sentence(turn, "too_long"))
    return memory.with_memory(*recall_kept(posted_receipts(spoken), turn.tag_suffix))


async def drop_too_long(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """The memory without what was too much for the model, so that the thread can go on: the question, or what
    was said before it, whichever is longer. The journal keeps both."""
    asked = set(seqs_of(turn.answers))
    before = [one for one in memory.conversation if one.seq is not None and one.seq < turn.began_seq]
    earlier = [one for one in before if one.seq not in asked]
    questions = [one for one in memory.conversation if one.seq in asked]
    if earlier and _length(earlier) > _length(questions):
        last = earlier[-1].seq
        assert last is not None
        await turn.record(ContextCleared(text="", last=last, kept=len(questions)))
    return without_refused_question(turn, memory)


def _length(memories: Iterable[Memory]) -> int:
    return sum(len(one.content) for one in memories)


def without_refused_question(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """What was refused to the end is not kept: it would be refused again with each message to come."""
    asked = set(seqs_of(turn.answers))
    return working_memory(kept for kept in memory.memories if kept.seq not in asked)


def posted_receipts(
    receipts: Iterable[Entry[SpeechFinished | SpeechDropped]],
) -> list[Entry[SpeechFinished | SpeechDropped]]:
    """Those of the receipts of a message whose words stand in Slack."""
    return of_kind(SpeechFinished, receipts)


def owner_sentence(turn: Turn, name: str) -> str:
    """A fixed sentence of the owner's."""
    return fill_prompt(turn, f"prompts/sentences/{name}")


def with_cut_note(turn: Turn, said: str) -> str:
    """What was said until there was no more room, and that there was none; code in it is closed."""
    if said.count(FENCE) % 2:
        said += f"\n{FENCE}"
    return f"{said}\n\n{owner_sentence(turn, 'cut')}"
