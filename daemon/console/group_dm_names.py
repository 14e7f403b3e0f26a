"""Names of group DMs, made of their people. Slack is asked once for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable

GROUP = "Group DM"
MOST_ASKED = 20

RETRY_AFTER = 600.0
"""Seconds until Slack is asked again for the people in a group DM."""


class GroupDmNames:
    """Names of group DMs by channel.

    `people_in` returns the ids of a channel's people, `look_up_name` the name of an id; both are empty if
    unknown.
    """

    def __init__(
        self,
        people_in: Callable[[str], Awaitable[Collection[str]]],
        look_up_name: Callable[[str], Awaitable[str]],
        now: Callable[[], float],
    ) -> None:
        self._people_in = people_in
        self._look_up_name = look_up_name
        self._now = now
        self._known: dict[str, str] = {}
        self._asked: dict[str, float] = {}

    async def look_up(self, channels: Iterable[str]) -> None:
        """Ask Slack for the people of group DMs without a name."""
        now = self._now()
        due = now - RETRY_AFTER
        unnamed = [id for id in channels if id not in self._known and self._asked.get(id, due) <= due]
        async with asyncio.TaskGroup() as asking:
            for channel in unnamed[:MOST_ASKED]:
                self._asked[channel] = now
                asking.create_task(self._learn(channel))

    async def _learn(self, channel: str) -> None:
        names = [await self._look_up_name(id) for id in await self._people_in(channel)]
        if names and all(names):
            self._known[channel] = group_dm_title(names)

    def name_of(self, channel: str, spoke: Iterable[str]) -> str:
        """Return the name of a group DM. `spoke` are the names of people who wrote there."""
        return self._known.get(channel) or group_dm_title(spoke)


def group_dm_title(names: Iterable[str]) -> str:
    known = sorted(names, key=str.casefold)
    if not known:
        return GROUP
    return f"{GROUP} with {', '.join(known)}"
