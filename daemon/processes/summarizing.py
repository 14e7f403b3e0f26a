"""Sums up a long conversation, or what was said in a DM, when nobody waits: the journal stays whole, but less
of it is in sight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daemon.kinds import ContextCleared, DmSummaryPlanned
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.asking import ask_in_background
from daemon.mind.pipeline import FILLED, SUMMARIZING
from daemon.mind.steps import summarize
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.turn.model_calls import window_tokens


async def summarizes_conversation(turn: Turn) -> WorkingMemory:
    """One call over the older part, or over each piece of it that fits the model, with what is summed up by
    then; its last entry, the summary, stands for that from the next turn on."""
    nothing = working_memory(())
    in_dm, last = "dm" in turn.params, turn.params["last"]
    conversation: Sequence[Memory] = turn.memory.conversation
    if in_dm:
        conversation = turn.dm_to_summarize()
    seqs = [memory.seq for memory in conversation]
    if last not in seqs:
        return nothing  # it was summed up meanwhile
    memory = working_memory(conversation[: seqs.index(last) + 1])
    made_of: tuple[int, ...] = ()
    if in_dm:
        made_of = memory.seqs
        await turn.record(DmSummaryPlanned(seqs=made_of))
    words = turn.prompt("prompts/summarize")
    summed_up, text = working_memory(()), None
    for piece in _pieces(memory.conversation, int(window_tokens(turn) * FILLED)):
        so_far = working_memory([*summed_up.conversation[-1:], *piece])
        summed_up, text = await summarize(turn, so_far, words, name="sum-up", ask=ask_in_background(turn))
        if not text:
            return nothing
    if text:
        await turn.record(ContextCleared(text=text, last=last, seqs=made_of))
    return nothing


def _pieces(conversation: Sequence[Memory], most: int) -> Iterator[Sequence[Memory]]:
    """The conversation, in as few pieces as fit the models: nearly always in one."""
    piece: list[Memory] = []
    length = 0
    for memory in conversation:
        if piece and length + len(memory.content) > most:
            yield piece
            piece, length = [], 0
        piece.append(memory)
        length += len(memory.content)
    yield piece


PROCESS = MentalProcess(
    name=SUMMARIZING,
    run=summarizes_conversation,
    called="a conversation has become long",
    texts={"prompts/summarize": Placeholders({"name"})},
)
