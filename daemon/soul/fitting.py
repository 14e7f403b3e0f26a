"""A prompt is kept below what its model takes: before it is sent, and once more where a server refused it.

What is shown instead is a recorded entry, so that a call that is read back asks the same. The memory of the
process stays whole.
"""

from __future__ import annotations

from collections.abc import Set

from daemon.claude.windows import estimate_tokens
from daemon.engine.context import Context
from daemon.engine.event import Entry, seqs_of
from daemon.kinds import ModelCall, PromptShortened, RunMessage
from daemon.memory import Memory, WorkingMemory
from daemon.mind.recall import entry_as_memory
from daemon.mind.shortening import can_be_shortened, plan_shortening, shorten_memory

NAME = "shortened"
TRIES = 4
"""How often more is left out where the count was wrong."""
MORE = 1.25
"""How much more each time."""
PARTS = (1, 2, 4)
"""Where so much cannot be left out, a half or a quarter of it may do: the server's own count is not known."""
MARK = 40
"""Tokens of the mark that says so."""
UNMARKED = Memory(role="user", content="")


async def fit_prompt(ctx: Context, memory: WorkingMemory, model: str, over: int) -> WorkingMemory:
    """The memory that a model is shown; in the usual case (`over` is 0 tokens) this one."""
    found = await ctx.record_if_found(NAME, lambda: _needed(ctx, memory, model, over))
    return _applied(memory, found)


async def shrink_refused_prompt(
    ctx: Context, memory: WorkingMemory, refusal: Entry[ModelCall], over: int
) -> WorkingMemory | None:
    """The memory to show after a refusal for size; None where nothing of it can be left out."""
    if not can_be_shortened(memory):
        return None
    model = refusal.event.model

    async def look() -> PromptShortened:
        for part in PARTS:
            made = _needed(ctx, memory, model, over // part, refused=True)
            if made:
                return made
        return PromptShortened(model=model, refused=True)

    found = await ctx.step(NAME, refusal.event.saw, look, PromptShortened, patient=False)
    if not found.event.left_out and not found.event.longest:
        return None
    return _applied(memory, found)


def _applied(memory: WorkingMemory, found: Entry[PromptShortened] | None) -> WorkingMemory:
    if found is None:
        return memory
    return shorten_memory(memory, found.event, entry_as_memory(found))


def _needed(
    ctx: Context, memory: WorkingMemory, model: str, over: int, *, refused: bool = False
) -> PromptShortened | None:
    """What has to be left out; None: nothing, or all that could be is not enough."""
    if not over:
        return None
    essential = _essential(ctx, memory)
    count = _count(memory)
    target = over + MARK
    for _ in range(TRIES):
        made = plan_shortening(memory, target, essential, estimate_tokens, model=model, refused=refused)
        if made is None:
            return None
        if count - _count(shorten_memory(memory, made, UNMARKED)) >= over + MARK:
            return made
        target = int(target * MORE)
    return None


def _count(memory: WorkingMemory) -> int:
    return sum(estimate_tokens(one.content) for one in memory.memories)


def _essential(ctx: Context, memory: WorkingMemory) -> Set[int]:
    """The places of what is answered, and of what a run was told first: its goal, and what it may choose."""
    answered = set(seqs_of(ctx.execution.inputs))
    places = {place for place, one in enumerate(memory.conversation) if one.seq in answered}
    for place, one in enumerate(memory.conversation):
        if one.key.rpartition("/")[2].startswith(f"{RunMessage.kind}#"):
            return {*places, place}
    return places
