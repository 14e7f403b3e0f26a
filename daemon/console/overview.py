"""The soul from above, as its owner sees it: conversations, questions, people, costs. For overview_routes.

The owner may see everything. All of it is folded from the journal when somebody looks, so that a start costs
nothing; what was said is read from the entries, as they are now.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import islice
from typing import Any

from daemon.console.conversations import Conversation, Conversations, Wanted
from daemon.console.noted import Noted
from daemon.console.paging import Pages, Place
from daemon.console.spending import Spending, Sum, day_of
from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.kinds import INNER, Answered, Asked, Opened, Said, Spoken, TurnBegan
from daemon.knowledge.people import PersonModels
from daemon.knowledge.places import Places

LONGEST = 280
"""Characters of what was said, in a list."""
SEARCHED = 400
"""Entries that hold the words which are looked for, the newest ones: conversations are found by these."""
LATELY = 12
"""Questions that were answered last."""
NOTES = 60
"""Notes about one person, the newest ones."""
DEAREST = 25
"""Conversations that cost the most."""

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """What may be spent on a day (dollars), and the clock of that day (Unix seconds)."""

    daily: float
    now: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """What Slack says: what a channel is called, or who said nothing so far (empty: nobody knows), and the
    link to a message by its channel, ts and root (empty in a rehearsal)."""

    called: Callable[[str], Awaitable[str]]
    link: Callable[[str, str, str], str]


class Overview:
    """Tells of it. `owners` are ids of people."""

    def __init__(
        self,
        journal: Journal,
        places: Places,
        purse: Purse,
        owners: Collection[str],
        directory: Directory,
    ) -> None:
        self._journal = journal
        self._purse = purse
        self._owners = owners
        self._directory = directory
        self._pages = Pages(journal)
        self._conversations = Conversations(journal)
        self._spending = Spending(journal)
        self._noted = Noted(journal)
        self._models = PersonModels(journal, places)

    # Conversations

    async def threads(self, wanted: Wanted) -> Told:
        """A page of those that are wanted, the latest first; `older` is what to ask on with."""
        if wanted.words:
            wanted = replace(wanted, found=await self._holding(wanted.words))
        await self._conversations.update()
        await self._spending.update()
        questions = self._questions()
        waiting = {root_of(entry.thread) for entry in questions}
        thinking = {*self._journal.waiting(TurnBegan)}
        fitting = list(islice(self._conversations.wanted(wanted, waiting), wanted.limit + 1))
        shown = fitting[: wanted.limit]
        more = len(fitting) > len(shown)
        return {
            "threads": [self._thread(one, questions, thinks=one.thread in thinking) for one in shown],
            "older": shown[-1].last if more else None,
            "choices": self._conversations.choices(),
            "waiting": len(questions),
        }

    async def _holding(self, words: Sequence[str]) -> Collection[str]:
        """The conversations in which somebody lately said something with all these words."""
        page = await self._pages.page(Place(words=" ".join(words), limit=SEARCHED))
        entries = [json.loads(entry) for entry in page.entries]
        return {root_of(entry["thread"]) for entry in entries if self._is_said(entry, words)}

    def _is_said(self, entry: Told, words: Sequence[str]) -> bool:
        """Did somebody say all these words there? An id is nothing that is said."""
        if entry["kind"] not in self._journal.kinds.names([Said, Spoken]):
            return False
        text = entry["body"]["text"].casefold()
        return all(word in text for word in words)

    def _thread(self, one: Conversation, questions: Sequence[Entry[Asked]], *, thinks: bool) -> Told:
        mine = [entry for entry in questions if root_of(entry.thread) == one.thread]
        spent = self._spending.of(one.thread)
        return {
            "thread": one.thread,
            "where": one.where,
            "place": self._conversations.called(one),
            "people": self._people(sorted(one.people)),
            "at": one.at,
            "last": one.last,
            "began": self._words(one.first),
            "said": self._words(one.words) if one.words != one.first else "",
            "process": one.process,
            "turns": one.turns,
            "failed": one.failed,
            "thinks": thinks,
            "waits": [self._addressed(entry.event) for entry in mine],
            "cost": spent.cost,
            "worth": spent.worth,
        }

    # Questions

    async def questions(self) -> Told:
        """Those that are open, the oldest first, and those that were answered last."""
        await self._conversations.update()
        answered = self._journal.sound(self._journal.seqs(Answered)[-LATELY * 4 :])
        told = [self._answered(entry) for entry in reversed(answered)]
        return {
            "open": [self._asked(entry) for entry in self._questions()],
            "answered": [one for one in told if one][:LATELY],
        }

    @property
    def waiting(self) -> int:
        """How many questions are open."""
        return len(self._questions())

    def _questions(self) -> Sequence[Entry[Asked]]:
        """The open ones. What was put aside for something newer is none: it goes on by itself."""
        pending = self._journal.pending(Asked)
        return [entry for entry in pending if entry.event.text or entry.event.choices or entry.event.words]

    def _asked(self, entry: Entry[Asked]) -> Told:
        return {
            **self._place(entry.thread),
            "seq": entry.seq,
            "at": entry.at,
            "text": entry.event.text,
            "choices": entry.event.choices,
            "words": entry.event.words,
            "to": self._addressed(entry.event),
            "link": self._link(entry),
        }

    def _link(self, asked: Entry[Asked]) -> str:
        """Where the message with its buttons stands in Slack, or the thread that waits for words; empty in a
        rehearsal."""
        opened = next(self._journal.latest_first(root_of(asked.thread), Opened), None)
        if opened is None or not opened.event.ts:
            return ""
        channel, root = opened.event.channel, opened.event.ts
        said = [entry.event.ts for entry in self._journal.sound(asked.event.said)]
        return self._directory.link(channel, (said or [root])[-1], root)

    def _answered(self, entry: Entry[Answered]) -> Told | None:
        answered = entry.event
        asked = next(iter(self._journal.sound([answered.asked])), None)
        if asked is None or not (asked.event.choices or asked.event.words):
            return None
        return {
            **self._asked(asked),
            "answer": _cut(answered.value),
            "by": self._conversations.names.get(answered.by, ""),
            "answered_at": entry.at,
            "answered_seq": entry.seq,
        }

    def _addressed(self, asked: Asked) -> Told:
        """Who may answer it: names, and whether one of them is an owner of the soul."""
        ids = {*asked.to, *asked.owners}
        return {"names": self._people(sorted(ids)), "owner": bool(ids & {*self._owners})}

    # People

    async def people(self) -> Told:
        """Everybody whom it knows, those whom it knows best first; and how much it noted besides."""
        await self._known()
        await self._spending.update()
        spent = self._spending.by(lambda cell: cell.person)
        known = self._models.all()
        talks: dict[str, list[float]] = {person: [] for person in known}
        for one in self._conversations.all():
            for person in one.people:
                talks.setdefault(person, []).append(one.at)
        people = [
            {
                "id": person,
                "name": self._name(person),
                "owner": person in self._owners,
                "threads": len(talks[person]),
                "at": max(talks[person], default=None),
                "known": len(known.get(person, ())),
                "noted": len(self._noted.about(self._name(person))),
                **spent.get(person, Sum()).told(),
            }
            for person in sorted(talks, key=lambda id: (-len(talks[id]), self._name(id).casefold()))
        ]
        return {"people": people, "others": len(self._noted.about_others(self._names()))}

    async def person(self, id: str) -> Told:
        """What it knows of somebody, and noted; with no id, what it noted of nobody whom it met."""
        await self._known()
        models = self._models.all().get(id, ())
        notes = self._noted.about(self._name(id)) if id else self._noted.about_others(self._names())
        return {
            "id": id,
            "name": self._name(id) if id else "",
            "known": self._texts(models),
            "notes": self._texts(notes[-NOTES:]),
            "more": max(len(notes) - NOTES, 0),
        }

    def _texts(self, seqs: Sequence[int]) -> Sequence[Told]:
        """What these entries say, the newest first, and where they were written."""
        entries = self._journal.sound(seqs)
        return [
            {
                **self._place(entry.thread),
                "seq": entry.seq,
                "at": entry.at,
                "text": entry.event.text,
                "about": getattr(entry.event, "about", ""),
            }
            for entry in reversed(entries)
            if entry.event.text
        ]

    async def names(self, ids: Sequence[str]) -> Told:
        """What these people and channels are called, by id; who has no name is left out."""
        await self._conversations.update()
        names = await asyncio.gather(*(self._named(id) for id in ids))
        return {"names": {id: name for id, name in zip(ids, names, strict=True) if name}}

    async def _named(self, id: str) -> str:
        return self._conversations.names.get(id, "") or await self._directory.called(id)

    # Costs

    async def costs(self, days: int) -> Told:
        """What the last so many days have cost: each day, and by conversation, person and model."""
        await self._conversations.update()
        await self._spending.update()
        today = day_of(self._purse.now())
        first = date.fromisoformat(today) - timedelta(days=days - 1)
        since = first.isoformat()
        by_day = self._spending.by(lambda cell: cell.day, since)
        each_day = [(first + timedelta(days=number)).isoformat() for number in range(days)]
        dearest = _dearest(self._spending.by(lambda cell: cell.thread, since))
        people = _dearest(self._spending.by(lambda cell: cell.person, since))
        models = _dearest(self._spending.by(lambda cell: cell.model, since))
        whole = Sum()
        for spent in by_day.values():
            whole.add(spent)
        return {
            "daily": self._purse.daily,
            "today": today,
            "whole": whole.told(),
            "days": [{"day": day, **by_day.get(day, Sum()).told()} for day in each_day],
            "threads": [{**self._place(id), **spent.told()} for id, spent in dearest[:DEAREST]],
            "people": [{"id": id, "name": self._name(id), **spent.told()} for id, spent in people],
            "models": [{"name": name, **spent.told()} for name, spent in models],
        }

    # What they share

    async def _known(self) -> None:
        """Fold what is known of people."""
        await self._noted.update()
        await self._models.update()
        await self._conversations.update()

    def _place(self, thread: str) -> Told:
        """Where an entry was written, and by which words one knows that conversation."""
        one = self._conversations.get(thread)
        if one is None:
            return {"thread": thread, "place": "Inner life" if thread == INNER else "", "began": ""}
        place = self._conversations.called(one)
        return {"thread": one.thread, "place": place, "began": self._words(one.first)}

    def _words(self, seq: int) -> str:
        """What was said there, cut where it is long; empty where there is nothing, or not any more."""
        for entry in self._journal.sound([seq] if seq else []):
            files = [f"📎 {file.name}" for file in getattr(entry.event, "files", ())]
            return _cut(" ".join([entry.event.text, *files]).strip())
        return ""

    def _name(self, person: str) -> str:
        return self._conversations.names.get(person, "Somebody")

    def _names(self) -> Collection[str]:
        return self._conversations.names.values()

    def _people(self, ids: Sequence[str]) -> Sequence[Told]:
        return [{"id": id, "name": self._name(id)} for id in ids]


def _dearest(sums: Mapping[str, Sum]) -> Sequence[tuple[str, Sum]]:
    return sorted(sums.items(), key=lambda pair: (-pair[1].cost, -pair[1].worth, pair[0]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
