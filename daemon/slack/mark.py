"""The metadata of our own messages in Slack: which speech, of which journal, and what it answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import digest
from daemon.slack.payload import TS, first_text, object_or_empty
from daemon.slack.web import Item

METADATA_EVENT = "soul_speech"
"""The metadata's event_type. Its payload: `key`, the digest of the speech's key; `journal`, the id of the
journal that it stands in; `answers`, the ts of the messages that it answers, between spaces; `grows`, only
while more of it is to come: other daemons wait for that."""
MOST_ANSWERED = 100
"""Messages that are named one by one: Slack bounds the size of metadata."""


def speech_metadata(key: str, journal: str, answers: Sequence[str], *, grows: bool = False) -> dict[str, Any]:
    """The metadata of a message of the speech that has this key."""
    named = " ".join(answers[-MOST_ANSWERED:])
    payload: dict[str, Any] = {"key": digest(key), "journal": journal, "answers": named}
    if grows:
        payload["grows"] = True
    return {"event_type": METADATA_EVENT, "event_payload": payload}


@dataclass(frozen=True, slots=True)
class SpeechMetadata:
    """What the metadata of a message of ours says; `answers` is None where it does not name them."""

    key: str
    journal: str
    answers: frozenset[str] | None
    grows: bool = False


def read_speech_metadata(item: Item) -> SpeechMetadata:
    """What stands in the metadata of this message."""
    metadata = object_or_empty(item, "metadata")
    if metadata.get("event_type") != METADATA_EVENT:
        return SpeechMetadata("", "", None)
    payload = object_or_empty(metadata, "event_payload")
    answers = payload.get("answers")
    named = None
    if isinstance(answers, str):
        named = frozenset(ts for ts in answers.split() if TS.fullmatch(ts))
    return SpeechMetadata(
        first_text(payload, "key"), first_text(payload, "journal"), named, payload.get("grows") is True
    )
