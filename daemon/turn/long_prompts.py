"""Long prompts: entries recorded in chunks, and prompts shortened to the window of a model.

Prompts grow only at their end: a common beginning is recorded once, in chunks keyed by content. An omission
is recorded for replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from daemon.claude.requests import estimate_tokens
from daemon.engine.context import Context
from daemon.engine.event import Entry, seqs_of
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import Fence
from daemon.kinds import ModelCall, PromptChunk, PromptShortened, RunMessage, prompt_chunk_key
from daemon.memory import Memory, WorkingMemory
from daemon.turn.recall import can_be_shortened, entry_as_memory, plan_shortening, shorten_memory

ENTRIES_PER_CHUNK = 128


ChunkedSeqs = tuple[tuple[int, ...], tuple[int, ...]]
"""Seqs of chunks, and of the entries after them."""


SHORTENING_STEP = "shortened"


MOST_TRIES = 4
"""Most attempts to shorten a prompt, since each estimate may be wrong."""


GROWTH = 1.25
"""Factor by which each attempt omits more."""


EXCESS_DIVISORS = (1, 2, 4)
"""Divisors of the excess, tried in turn: the server's count of tokens is unknown."""


MARK_TOKENS = 40
"""Most tokens of the mark that stands for the omission."""


NO_MARK = Memory(role="user", content="")


async def chunk_entries(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> ChunkedSeqs:
    """Return the seqs of chunks, recorded if new, and of the entries after them.

    Raises FencedError and JournalError.
    """
    if len(seqs) < ENTRIES_PER_CHUNK:
        return (), seqs
    try:
        if _is_first_call(journal, execution):
            return (), seqs
        chunks = [await _record_chunk(journal, execution, chunk) for chunk in _whole_chunks(seqs)]
    except JournalDamaged:  # chunks only save space: a damaged journal must not lose the call
        return (), seqs
    return tuple(chunks), seqs[len(chunks) * ENTRIES_PER_CHUNK :]


def _is_first_call(journal: Journal, execution: Execution) -> bool:
    """True if the thread has no model call yet: many DMs end after one, for which chunks do not pay."""
    return journal.latest_of_kind(execution.thread, ModelCall) is None


def _whole_chunks(seqs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for end in range(ENTRIES_PER_CHUNK, len(seqs) + 1, ENTRIES_PER_CHUNK):
        yield seqs[end - ENTRIES_PER_CHUNK : end]


async def _record_chunk(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> int:
    """Return the seq of a chunk, recorded if new.

    The chunk's key depends only on its seqs, so that forgetting finds its content.
    """
    thread = execution.thread
    key = prompt_chunk_key(thread, seqs)
    known = journal.get(key)
    if known:
        return known.seq
    fence = Fence(thread=thread, epoch=execution.epoch)
    chunk = PromptChunk(seqs=seqs)
    entry, _ = await journal.append(thread, chunk, key=key, author="core", fence=fence)
    return entry.seq


async def fit_prompt(ctx: Context, memory: WorkingMemory, model: str, over: int) -> WorkingMemory:
    """Return the memory, shortened by `over` tokens for the model."""
    found = await ctx.record_if_found(SHORTENING_STEP, lambda: _plan(ctx, memory, model, over))
    return _shortened(memory, found)


async def shrink_refused_prompt(
    ctx: Context, memory: WorkingMemory, refusal: Entry[ModelCall], over: int
) -> WorkingMemory | None:
    """Return the memory, shortened after the server refused its size; None if nothing can be omitted."""
    if not can_be_shortened(memory):
        return None
    model = refusal.event.model

    async def plan_by_excess() -> PromptShortened:
        for divisor in EXCESS_DIVISORS:
            plan = _plan(ctx, memory, model, over // divisor, refused=True)
            if plan:
                return plan
        return PromptShortened(model=model, refused=True)

    found = await ctx.step(SHORTENING_STEP, refusal.event.saw, plan_by_excess, PromptShortened, patient=False)
    if not found.event.left_out and not found.event.longest:
        return None
    return _shortened(memory, found)


def _shortened(memory: WorkingMemory, found: Entry[PromptShortened] | None) -> WorkingMemory:
    if found is None:
        return memory
    return shorten_memory(memory, found.event, entry_as_memory(found))


def _plan(
    ctx: Context, memory: WorkingMemory, model: str, over: int, *, refused: bool = False
) -> PromptShortened | None:
    if not over:
        return None
    essential = _essential_places(ctx, memory)
    whole = _count_tokens(memory)
    target = over + MARK_TOKENS
    for _ in range(MOST_TRIES):
        plan = plan_shortening(memory, target, essential, estimate_tokens, model=model, refused=refused)
        if plan is None:
            return None
        if whole - _count_tokens(shorten_memory(memory, plan, NO_MARK)) >= over + MARK_TOKENS:
            return plan
        target = int(target * GROWTH)
    return None


def _count_tokens(memory: WorkingMemory) -> int:
    return sum(estimate_tokens(one.content) for one in memory.memories)


def _essential_places(ctx: Context, memory: WorkingMemory) -> Set[int]:
    answered = set(seqs_of(ctx.execution.inputs))
    places = {place for place, one in enumerate(memory.conversation) if one.seq in answered}
    for place, one in enumerate(memory.conversation):
        if one.key.rpartition("/")[2].startswith(f"{RunMessage.kind}#"):
            return {*places, place}
    return places
