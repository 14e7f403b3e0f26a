"""What the others have heard of an execution that waits, as it will keep it itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from daemon.engine.event import Entry
from daemon.kinds import ModelCall, SpeechFinished
from daemon.mind.answer import is_spoken
from daemon.soul.utterance import speech_key_of


def visible_messages(entries: Iterable[Entry[Any]]) -> Iterator[Entry[ModelCall | SpeechFinished]]:
    """The receipts of what it said; where the model's answer was said, that call, and not twice the same."""
    answer: Entry[ModelCall] | None = None
    said = ""
    for entry in entries:
        if isinstance(entry.event, ModelCall) and is_spoken(entry):
            answer = entry
        elif isinstance(entry.event, SpeechFinished):
            speech = speech_key_of(entry.key)
            if answer:
                yield answer
                answer = None
                said = speech
            elif speech != said:
                yield entry
