"""What somebody, or a channel, is called, as an event tells it. Pure; raises Malformed, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from daemon.kinds import moment
from daemon.slack.payload import called, identity, object_in, part, stamp, told
from daemon.slack.text import named

CHANGES = ("user_change", "user_profile_changed")
"""Types of events that tell of a person who has changed something about themselves."""
RENAMED = ("channel_name", "group_name")
"""Subtypes of the messages that tell of a channel that has another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The name under this id since `at`; a person may have a `handle`, which is theirs alone."""

    id: str
    name: str
    handle: str
    at: Decimal


def profile_in(event: Mapping[str, Any]) -> Profile | None:
    """The profile of which this event says that it has changed; None if it says nothing of the kind."""
    if event.get("type") in CHANGES:
        user = part(event, "user")
        return _profile(identity(user, "id"), user, stamp(event, "event_ts"))
    if event.get("subtype") in RENAMED and told(event, "name"):
        name, at = named(f"#{told(event, 'name')}"), moment(stamp(event, "ts"))
        return Profile(id=identity(event, "channel"), name=name, handle="", at=at)
    return None


def profile_of_author(message: Mapping[str, Any], user: str, ts: str) -> Profile | None:
    """The profile that a message of this person's came with, if it did."""
    described = object_in(message, "user_profile")
    if not user or not described:
        return None
    return _profile(user, {"profile": described, "name": described.get("name")}, ts)


def _profile(id: str, user: Mapping[str, Any], ts: str) -> Profile | None:
    name = named(called(user))
    if not name:
        return None
    return Profile(id=id, name=name, handle=named(told(user, "name")), at=moment(ts))
