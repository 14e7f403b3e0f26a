"""What somebody, or a channel, is called, as an event tells it. Pure; raises Malformed, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from daemon.kinds import moment_of
from daemon.slack.payload import display_name, first_text, id_at, object_at, object_or_empty, timestamp_at
from daemon.slack.text import clean_display_name

CHANGES = ("user_change", "user_profile_changed")
"""Types of events that tell of a person who has changed something about themselves."""
RENAMED = ("channel_name", "group_name")
"""Subtypes of the messages that tell of a channel that has another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackProfile:
    """The name under this id since `at`; a person may have a `handle`, which is theirs alone."""

    id: str
    name: str
    handle: str
    at: Decimal


def profile_in_event(event: Mapping[str, Any]) -> SlackProfile | None:
    """The profile of which this event says that it has changed; None if it says nothing of the kind."""
    if event.get("type") in CHANGES:
        user = object_at(event, "user")
        return _profile(id_at(user, "id"), user, timestamp_at(event, "event_ts"))
    if event.get("subtype") in RENAMED and first_text(event, "name"):
        name, at = clean_display_name(f"#{first_text(event, 'name')}"), moment_of(timestamp_at(event, "ts"))
        return SlackProfile(id=id_at(event, "channel"), name=name, handle="", at=at)
    return None


def profile_of_author(message: Mapping[str, Any], user: str, ts: str) -> SlackProfile | None:
    """The profile that a message of this person's came with, if it did."""
    described = object_or_empty(message, "user_profile")
    if not user or not described:
        return None
    return _profile(user, {"profile": described, "name": described.get("name")}, ts)


def _profile(id: str, user: Mapping[str, Any], ts: str) -> SlackProfile | None:
    name = clean_display_name(display_name(user))
    if not name:
        return None
    return SlackProfile(
        id=id, name=name, handle=clean_display_name(first_text(user, "name")), at=moment_of(ts)
    )
