"""What may be known where: in sight is one conversation, or public things only.

A view is the thread of that conversation; an empty one stands for public things. Whatever a tick of the inner
life writes carries the view that it was written under.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from daemon.engine.reading import ALWAYS
from daemon.kinds import AudienceChanged
from daemon.knowledge.places import INSIDE, KnownChannels, may_know

PUBLIC = ""


class VisibilityCheck(Protocol):
    """May what was written in this view, in the entry `wrote`, be known?"""

    def __call__(self, there: str, wrote: int = ALWAYS) -> bool: ...


def always_visible(there: str, wrote: int = ALWAYS) -> bool:
    """Nothing is withheld: for what no one is shown."""
    return True


class Visibility:
    """Says what may be shown in which view."""

    def __init__(self, places: KnownChannels) -> None:
        self._places = places

    async def update(self) -> None:
        """Read who can read where, in pieces: then nobody waits for it."""
        await self._places.update()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        return self._places.entries_left

    def may_know(self, here: str, there: str, before: int = ALWAYS, wrote: int = ALWAYS) -> bool:
        """Could everyone who reads `here` have read what was written in sight of `there`?

        In sight of public things only, what is public may be known, and nothing else. `before` says as of
        which entry; what a thread that is no conversation holds is nobody else's. `wrote` is the entry in
        which it was written. A channel may since have been shared with outsiders: what was written there
        before may rest on public things that they cannot read, and so it stays hidden.
        """
        return self.make_check(here, before)(there, wrote)

    def make_check(self, here: str, before: int = ALWAYS) -> VisibilityCheck:
        """The same for many views: it looks into the journal once, and answers as of `before`."""
        self._places.fold()
        inside = self._audience(here, before)
        channel = self._places.channel_of(here)
        opened = 0
        if channel:
            opened = channel.last_opened(before)

        @cache
        def may_know_here(there: str) -> bool:
            if here == there:
                return True
            written = self._audience(there, before)
            if here == PUBLIC:
                return written is not None and written.audience == "public"
            if inside is None:
                return False
            if there == PUBLIC:
                return inside.audience in INSIDE
            return written is not None and may_know(inside, written)

        def knows(there: str, wrote: int = ALWAYS) -> bool:
            if wrote < opened and self.are_in_one_channel(here, there):
                return False
            return may_know_here(there)

        return knows

    def are_in_one_channel(self, here: str, there: str) -> bool:
        """Are both conversations in one channel, or in one DM?"""
        channel = self._places.channel_of(here)
        return channel is not None and channel is self._places.channel_of(there)

    def place(self, view: str) -> str:
        """What the conversation is called in a sentence; empty where it is none."""
        return self._places.name(view)

    def _audience(self, view: str, before: int) -> AudienceChanged | None:
        channel = self._places.channel_of(view)
        if channel is None:
            return None
        return channel.audience_before(before)
