"""How what a turn began in the world is brought to an end, where the turn itself will not do so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from daemon.engine.event import Entry, Event, only, seqs_of
from daemon.kinds import CardBegan, SpeechBegan
from daemon.soul import card
from daemon.soul.message import speech_of
from daemon.soul.voice import Voice

E = TypeVar("E", bound=Event)


async def settle(turn: Voice) -> None:
    """Each message that was begun stays as it stands in Slack, for good; what never stood there is unsaid."""
    await _end(turn, turn.journal.recorded(turn.execution.id))


async def settle_card(turn: Voice) -> None:
    """It is recorded whether Slack shows what the card was to show."""
    await _end_card(turn, turn.journal.recorded(turn.execution.id))


async def settle_abandoned(turn: Voice) -> None:
    """Both after a restart, of what was begun before it; what was begun since goes on."""
    left = turn.execution.left_open()
    await _end(turn, left)
    await _end_card(turn, left)


async def _end(turn: Voice, recorded: Sequence[Entry[Any]]) -> None:
    speeches = [speech_of(entry.key) for entry in _pending(turn, SpeechBegan, recorded)]
    for key in dict.fromkeys(speeches):
        await turn.speech_at(key).settle()


async def _end_card(turn: Voice, recorded: Sequence[Entry[Any]]) -> None:
    for intent in _pending(turn, CardBegan, recorded):
        await card.settle(turn, intent)


def _pending(turn: Voice, kind: type[E], recorded: Sequence[Entry[Any]]) -> list[Entry[E]]:
    begun = only(kind, recorded)
    still = set(turn.journal.still_pending(seqs_of(begun)))
    return [entry for entry in begun if entry.seq in still]
