"""How what a turn began in the world is brought to an end, where the turn itself will not do so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, of_kind, seqs_of
from daemon.kinds import CardIntended, SpeechBegan
from daemon.soul import card
from daemon.soul.utterance import speech_key_of
from daemon.soul.voice import Voice


async def finish_open_messages(turn: Voice) -> None:
    """Each message that was begun stays as it stands in Slack, for good; what never stood there is unsaid."""
    await _end_speeches(turn, _left_open(turn))


async def finish_open_card(turn: Voice) -> None:
    """It is recorded whether Slack shows what the card was to show."""
    await _end_cards(turn, _left_open(turn))


async def finish_before_restart(turn: Voice) -> None:
    """Both after a restart, of what was begun before it; what was begun since goes on."""
    left = turn.execution.entries_left_open()
    await _end_speeches(turn, left)
    await _end_cards(turn, left)


def _left_open(turn: Voice) -> list[Entry[Any]]:
    """What the execution of this turn began, and has not ended."""
    recorded = turn.journal.execution_entries(turn.execution.id)
    pending = set(turn.journal.still_pending(seqs_of(recorded)))
    return [entry for entry in recorded if entry.seq in pending]


async def _end_speeches(turn: Voice, begun: Sequence[Entry[Any]]) -> None:
    speeches = [speech_key_of(message.key) for message in of_kind(SpeechBegan, begun)]
    for key in dict.fromkeys(speeches):
        await turn.speech_at(key).settle()


async def _end_cards(turn: Voice, begun: Sequence[Entry[Any]]) -> None:
    for intent in of_kind(CardIntended, begun):
        await card.settle_plan_card(turn, intent)
