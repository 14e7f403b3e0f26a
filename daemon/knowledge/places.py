"""Which conversations there are, and what of one may be known in another. For memories.py and people.py."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.journal.reading import ALWAYS

INSIDE = frozenset({"public", "private", "group", "dm"})
"""Audiences of whom everyone may read every public channel of their team."""


def may_know(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Could everyone who reads `here` have read `there`? Both as bodies of `audience` entries.

    Within one channel, yes; what was said in a public channel, too, unless people from outside read here.
    Where the audience is not known, it is nobody else's.
    """
    if here["team"] != there["team"]:
        return False
    open_to_all = there.get("audience") == "public" and here.get("audience") in INSIDE
    return here["channel"] == there["channel"] or open_to_all


@dataclass(slots=True, kw_only=True)
class Channel:
    """A channel or a DM, in which there are conversations. `name` is for a sentence."""

    number: int
    team: str
    channel: str
    name: str
    seqs: list[int] = field(default_factory=list)
    audiences: list[str] = field(default_factory=list)
    """Who could read it, as of each of those seqs: a channel is made private, or shared with others."""

    def before(self, seq: int) -> Mapping[str, Any]:
        """Who it is and who may read it, as was last noted before `seq`."""
        last = bisect_left(self.seqs, seq)
        audience = self.audiences[last - 1] if last else ""
        return {"team": self.team, "channel": self.channel, "audience": audience}


class Places:
    """The channels of a journal's conversations: a projection, folded on whenever it is asked."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._folded = 0
        self._channels: dict[tuple[str, str], Channel] = {}
        self._of: dict[str, Channel] = {}

    def of(self, thread: str) -> Channel | None:
        """Where a conversation is; None if it is not in Slack."""
        root = thread.partition(".")[0]
        if root not in self._of:
            self.update()
        return self._of.get(root)

    def known(self, here: Channel, before: int = ALWAYS) -> list[Channel]:
        """The channels whose content may be known in this one."""
        self.update()
        mine = here.before(before)
        return [there for there in self._channels.values() if may_know(mine, there.before(before))]

    def update(self) -> None:
        """Fold what came since. The first time takes a second for two hundred thousand conversations."""
        entries, self._folded = fresh(self._journal, ("thread", "audience"), self._folded)
        for entry in entries:
            self._fold(entry)

    def _fold(self, entry: Entry) -> None:
        body = entry.body
        place = (body["team"], body["channel"])
        channel = self._channels.get(place)
        if not channel:
            if entry.kind == "audience":
                return  # nobody has said anything there
            number = len(self._channels) + 1
            channel = Channel(number=number, team=place[0], channel=place[1], name=body.get("place", ""))
            self._channels[place] = channel
        channel.seqs.append(entry.seq)
        channel.audiences.append(body.get("audience", ""))
        if entry.kind == "thread":
            self._of[entry.thread] = channel


def fresh(journal: Journal, kinds: Sequence[str], since: int) -> tuple[list[Entry], int]:
    """The entries of these kinds after seq `since`, in order, and up to which seq these are all."""
    if not since:
        last = journal.last()
        entries = [entry for kind in kinds for entry in journal.kind(kind) if entry.seq <= last]
        return sorted(entries, key=lambda entry: entry.seq), last
    found: list[Entry] = []
    while entries := journal.since(since):
        found += [entry for entry in entries if entry.kind in kinds]
        since = entries[-1].seq
    return found, since
