"""Background summaries of long conversations and DMs; the journal keeps all entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daemon.kinds import ContextCleared, DmSummaryPlanned
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.asking import ask_in_background
from daemon.mind.pipeline import SUMMARIZING, SUMMARY_CHARACTERS_PER_TOKEN
from daemon.mind.steps import summarize
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.turn.model_calls import window_tokens


async def summarizes_conversation(turn: Turn) -> WorkingMemory:
    """Summarize the older part, piece by piece; from the next turn on, the last summary replaces it."""
    nothing = working_memory(())
    in_dm, last = "dm" in turn.params, turn.params["last"]
    conversation: Sequence[Memory] = turn.memory.conversation
    if in_dm:
        conversation = turn.dm_to_summarize()
    seqs = [memory.seq for memory in conversation]
    if last not in seqs:
        return nothing  # summarized meanwhile
    memory = working_memory(conversation[: seqs.index(last) + 1])
    made_of: tuple[int, ...] = ()
    if in_dm:
        made_of = memory.seqs
        await turn.record(DmSummaryPlanned(seqs=made_of))
    words = turn.prompt("prompts/summarize")
    summed_up, text = working_memory(()), None
    for piece in _pieces(memory.conversation, int(window_tokens(turn) * SUMMARY_CHARACTERS_PER_TOKEN)):
        so_far = working_memory([*summed_up.conversation[-1:], *piece])
        summed_up, text = await summarize(turn, so_far, words, name="sum-up", ask=ask_in_background(turn))
        if not text:
            return nothing
    if text:
        await turn.record(ContextCleared(text=text, last=last, seqs=made_of))
    return nothing


def _pieces(conversation: Sequence[Memory], most: int) -> Iterator[Sequence[Memory]]:
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
