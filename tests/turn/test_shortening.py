"""Memories shortened to a model's window."""

from __future__ import annotations

import pytest

from daemon.claude.requests import estimate_tokens
from daemon.kinds import PromptShortened
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.turn.recall import can_be_shortened, plan_shortening, shorten_memory

MARK = Memory(role="user", content="<mark/>")


def conversation(*lengths: int) -> WorkingMemory:
    words = [chr(ord("a") + place) * length for place, length in enumerate(lengths)]
    return working_memory(Memory(role="user", content=text, seq=n) for n, text in enumerate(words, 1))


def shorter(memory: WorkingMemory, over: int, essential: frozenset[int] = frozenset()) -> PromptShortened:
    made = plan_shortening(memory, over, essential, estimate_tokens, model="m", refused=False)
    assert made
    return made


def size(memory: WorkingMemory) -> int:
    return sum(estimate_tokens(one.content) for one in memory.memories)


def test_the_oldest_goes_but_for_what_it_began_with_and_what_is_newest() -> None:
    made = shorter(conversation(*[3_000] * 10), 3_000)
    assert made.left_out[0] == 1
    assert made.left_out == tuple(range(1, len(made.left_out) + 1))
    assert 9 not in made.left_out
    assert 8 not in made.left_out
    assert not made.longest


def test_what_is_answered_stays_wherever_it_stands() -> None:
    assert 1 not in shorter(conversation(*[3_000] * 10), 5_000, frozenset({1})).left_out


@pytest.mark.parametrize("lengths", [(300_000,), (100, 300_000, 100), (9_000,) * 30, (200_000, 5, 200_000)])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_what_is_left_has_as_many_tokens_less_as_wanted(lengths: tuple[int, ...], share: float) -> None:
    memory = conversation(*lengths)
    over = int(size(memory) * share)
    made = shorter(memory, over)
    left = shorten_memory(memory, made, MARK)
    assert size(memory) - size(left) >= over * 0.95
    assert left.conversation[1] == MARK


def test_of_a_long_message_both_ends_stay_and_it_says_how_much_is_gone() -> None:
    memory = working_memory([Memory(role="user", content=f"BEGIN {'x' * 90_000} END")])
    [first, _] = shorten_memory(memory, shorter(memory, 20_000), MARK).conversation
    assert first.content.startswith("BEGIN")
    assert first.content.endswith("END")
    assert "characters left out" in first.content


def test_while_a_conversation_grows_a_little_the_same_is_left_out() -> None:
    lengths = [2_000] * 40
    first = shorter(conversation(*lengths), 10_000)
    again = shorter(conversation(*lengths, 300), 10_100)
    assert first.left_out == again.left_out


def test_what_stands_beside_is_cut_but_never_what_is_asked() -> None:
    memory = conversation(100).with_region("findings", "f" * 60_000).with_region("instruction", "i" * 9_000)
    left = shorten_memory(memory, shorter(memory, 15_000), MARK)
    assert "i" * 9_000 in left.trailing
    assert "f" * 60_000 not in left.trailing


def test_where_only_the_question_is_long_nothing_can_be_left_out() -> None:
    memory = working_memory([]).with_region("instruction", "i" * 90_000)
    assert not can_be_shortened(memory)
    assert plan_shortening(memory, 10_000, frozenset(), estimate_tokens, model="m", refused=True) is None
    assert (
        plan_shortening(conversation(90), 10_000, frozenset(), estimate_tokens, model="m", refused=True)
        is None
    )
