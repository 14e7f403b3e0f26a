"""Members of user groups, cached for five minutes: somebody who has left a group may not approve for long."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from slack_sdk.errors import SlackApiError

from daemon.slack.directory import KeyedLock
from daemon.slack.web_api import OUT_OF_REACH, WebApi

CACHE_SECONDS = 300.0

FAILURE_SECONDS = 30.0
"""Seconds until a group that could not be read is asked for again."""

PATIENCE_SECONDS = 5
"""Seconds that a look-up waits for Slack's rate limit."""

GROUP_ID = re.compile(r"S[A-Z0-9]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembers:
    """Members as of a look-up; None if it failed. `until` is steady time."""

    ids: frozenset[str] | None
    until: float


class SlackUserGroups:
    """User groups of the workspace, by `usergroups.users.list` (scope usergroups:read)."""

    def __init__(self, web: WebApi) -> None:
        self._web = web
        self._known: dict[str, GroupMembers] = {}
        self._asking = KeyedLock()

    async def members_of(self, group: str) -> Collection[str] | None:
        """Return the user ids of a group `S…`; None if they cannot be read now."""
        if not GROUP_ID.fullmatch(group):
            return None
        async with self._asking.lock_for(group):
            known = self._known.get(group)
            if known is None or known.until <= self._web.clock.steady():
                known = self._known[group] = await self._look_up(group)
        return known.ids

    async def _look_up(self, group: str) -> GroupMembers:
        now = self._web.clock.steady()
        method = self._web.client.usergroups_users_list
        try:
            answer = await self._web.call_readonly(method, PATIENCE_SECONDS, usergroup=group)
        except (SlackApiError, *OUT_OF_REACH):
            return GroupMembers(ids=None, until=now + FAILURE_SECONDS)
        users = answer.get("users")
        if not isinstance(users, list):
            return GroupMembers(ids=None, until=now + FAILURE_SECONDS)
        return GroupMembers(ids=frozenset(map(str, users)), until=now + CACHE_SECONDS)
