"""Overview for the page: conversations, questions, people, costs, and presses of buttons.

Entries are read on demand; `still_reading` is the number of unread ones. The viewer is the owner, or unknown
if there are several.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from daemon.console.conversation_list import (
    ConversationFilter,
    ConversationFold,
    ConversationSummary,
    NotesByPerson,
)
from daemon.console.entry_text import JsonObject, message_lines, truncated
from daemon.console.folds import (
    AT_ONCE,
    BackgroundFoldReader,
    KnownPeopleFold,
    NotesFold,
    SpendingFold,
    SpendingTotal,
    utc_day,
)
from daemon.console.group_dm_names import GroupDmNames
from daemon.console.journal_view import JournalPager, PageRequest
from daemon.engine.event import Entry, of_kind, root_of
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    INNER,
    ButtonPress,
    ConversationOpened,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SpeechFinished,
)
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.visibility import KnownChannels
from daemon.ports import Button
from daemon.turn.forms import OPEN_FORM
from daemon.turn.input_policy import may_answer

NO_OWNER = (
    "The page cannot tell who you are, since OWNER_USER_IDS names no owner. Name yourself there, or answer "
    "where it was asked."
)

SEVERAL = (
    "The page cannot tell which owner you are, since OWNER_USER_IDS names {count}. Press where it was asked."
)

NOT_YOURS = "Only {names} may answer this."

Pressing = Callable[[Entry[QuestionAsked], str, Button], Awaitable[bool]]
"""Press a question's button for a person; False if no presses are taken. Raises JournalError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PressRefusal:
    """Refusal of a press, with an HTTP status."""

    status: int
    why: str


QUESTION_UNKNOWN = PressRefusal(status=404, why="There is no such question.")
BUTTON_UNKNOWN = PressRefusal(status=400, why="This question has no such button.")

QUESTION_CLOSED = PressRefusal(
    status=409, why="This question is closed: somebody answered it, or nobody needs to any more."
)

FORM_ELSEWHERE = PressRefusal(status=409, why="This button opens a form: press it where the question stands.")

ALREADY_PRESSED = PressRefusal(
    status=409, why="A button of this question was pressed already. The soul takes it up as soon as it can."
)

DAEMON_STOPPING = PressRefusal(
    status=503,
    why="The daemon takes no presses now: it has not reached Slack yet, or is being stopped. Try again soon.",
)


class PageAnswers:
    def __init__(self, journal: Journal, owners: Collection[str], press: Pressing) -> None:
        self._journal = journal
        self._press = press
        self.owners = frozenset(owners)
        self.viewer = ""
        """Id of the viewer; empty if unknown."""
        if len(self.owners) == 1:
            [self.viewer] = self.owners

    def may_press(self, asked: Entry[QuestionAsked]) -> bool:
        return may_answer(asked, self.viewer, self.owners)

    def refusal_reason(self, asked: Entry[QuestionAsked], names: str) -> str:
        """Return the reason why the viewer may not press, or an empty text. `names` are those who may."""
        if not asked.event.choices or self.may_press(asked):
            return ""
        if not self.viewer and not self.owners.isdisjoint(asked.event.to):
            return SEVERAL.format(count=len(self.owners))
        if not self.owners:
            return NO_OWNER
        return NOT_YOURS.format(names=names)

    def pending_press(self, asked: Entry[QuestionAsked]) -> Entry[ButtonPress] | None:
        """Return the first valid press that is still pending."""
        for press in self._journal.pending_entries(ButtonPress, thread=asked.thread):
            if press.event.answers == asked.key and may_answer(asked, press.author, self.owners):
                return press
        return None

    async def press(self, asked: Entry[QuestionAsked], value: str, names: str) -> PressRefusal | None:
        """Press a button as the viewer; None on success. `names` are the people who may.
        Raises JournalError.
        """
        if value not in asked.event.choices:
            return BUTTON_UNKNOWN
        if not self._journal.is_pending(asked.seq):
            return QUESTION_CLOSED
        if value == OPEN_FORM:
            return FORM_ELSEWHERE
        why = self.refusal_reason(asked, names)
        if why:
            return PressRefusal(status=403, why=why)
        before = self.pending_press(asked)
        if before:
            same = (before.author, before.event.value) == (self.viewer, value)
            return None if same else ALREADY_PRESSED
        choice = Button(label=button_label(asked.event, value), value=value)
        return None if await self._press(asked, self.viewer, choice) else DAEMON_STOPPING


def button_label(asked: QuestionAsked, value: str) -> str:
    """Return a button's text; older journals have only its value."""
    labels: Mapping[str, str] = dict(zip(asked.choices, asked.labels, strict=False))
    return labels.get(value) or value.replace("_", " ").capitalize()


LONGEST = 280
"""Most characters of a text in a list."""

SEARCHED = 400
"""Most entries found by a filter's words."""

LATELY = 12
NOTES = 60
DEAREST = 25

MOST = 500
"""Most people and models returned."""

PIECE = 50
"""Conversations prepared before other tasks may run."""

NAMELESS = "Somebody"
NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetInfo:
    daily: float
    now: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackLinks:
    """Queries to Slack.

    `name_of` returns the name of an id (empty: unknown), `people_in` the ids in a group DM, `link` the URL of
    a message by channel, ts and root (empty in a rehearsal).
    """

    name_of: Callable[[str], Awaitable[str]]
    people_in: Callable[[str], Awaitable[Collection[str]]]
    link: Callable[[str, str, str], str]


class PageOverview:
    def __init__(
        self,
        journal: Journal,
        places: KnownChannels,
        budget: BudgetInfo,
        answers: PageAnswers,
        slack: SlackLinks,
        at_once: int = AT_ONCE,
    ) -> None:
        self._journal = journal
        self._budget = budget
        self._answers = answers
        self._slack = slack
        self._pages = JournalPager(journal)
        self._group_names = GroupDmNames(slack.people_in, self._named, budget.now)
        self._conversations = ConversationFold(journal, self._group_names)
        self._spending = SpendingFold(journal)
        self._noted = NotesFold(journal)
        self._notes = NotesByPerson(self._noted, self._conversations)
        self._models = PersonModels(journal, places)
        self._people_known = KnownPeopleFold(journal)
        self._reading = BackgroundFoldReader(self._read, self._entries_left, at_once, self._read_newest)

    async def close(self) -> None:
        await self._reading.close()

    async def _ready(self) -> int:
        left = await self._reading.entries_left()
        await self._group_names.look_up(reversed(self._conversations.group_dm_channels()))
        return left

    def _entries_left(self) -> int:
        folds = (self._conversations, self._spending, self._people_known)
        return max(*[fold.entries_left for fold in folds], self._noted.entries_left)

    async def _read_newest(self) -> None:
        await self._conversations.update_some()
        await self._spending.update_some()
        await self._people_known.update_some()

    async def _read(self) -> None:
        await self._noted.update()
        while self._entries_left():
            await self._read_newest()
            await self._noted.update()

    async def threads(self, wanted: ConversationFilter) -> JsonObject:
        """Return matching conversations, latest first; `older` is the `before` of the next page."""
        return await self._read_consistently(partial(self._threads, wanted))

    async def _read_consistently(self, tell: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Return the result of `tell`, called again if words were forgotten meanwhile."""
        while True:
            erasures = self._journal.erasures
            told = await tell()
            if erasures == self._journal.erasures:
                return told

    async def _threads(self, wanted: ConversationFilter) -> JsonObject:
        if wanted.words:
            wanted = replace(wanted, found=await self._threads_with_words(wanted.words))
        left = await self._ready()
        questions = self._questions()
        names = await self._names_to_ask(questions) if questions else NO_NAMES
        waits: defaultdict[str, list[JsonObject]] = defaultdict(list)
        for question in questions:
            waits[root_of(question.thread)].append(self._recipients_as_json(question.event, names))
        thinking = set(self._journal.threads_with_pending(SoulTurnBegan))
        found: list[ConversationSummary] = []
        async for one in self._conversations.matching(wanted, waits):
            found.append(one)
            if len(found) > wanted.limit:
                break
        shown = found[: wanted.limit]
        older = None
        if len(found) > len(shown):
            older = shown[-1].last
        threads: list[JsonObject] = []
        for start in range(0, len(shown), PIECE):
            some = shown[start : start + PIECE]
            said = self._entries_by_seq([one.first for one in some] + [one.words for one in some])
            threads += [
                self._conversation_as_json(one, said, waits[one.thread], one.thread in thinking)
                for one in some
            ]
            await asyncio.sleep(0)
        return {
            "still_reading": left,
            "threads": threads,
            "older": older,
            "choices": self._conversations.filter_choices(),
            "waiting": len(questions),
        }

    async def _threads_with_words(self, words: Sequence[str]) -> Collection[str]:
        place = PageRequest(words=" ".join(words), limit=SEARCHED)
        return await self._pages.threads_where_said(place)

    def _conversation_as_json(
        self,
        one: ConversationSummary,
        said: Mapping[int, Entry[Any]],
        waits: Sequence[JsonObject],
        thinks: bool,
    ) -> JsonObject:
        last = ""
        if one.words != one.first:
            last = _shown(said.get(one.words))
        spent = self._spending.thread_total(one.thread)
        return {
            "thread": one.thread,
            "where": one.where,
            "place": self._conversations.place_name(one),
            "asker": self._id_and_name(one.asker) if one.asker else None,
            "private": self._conversations.is_private(one),
            "people": self._people_as_json(one.people),
            "at": one.at,
            "last": one.last,
            "began": _shown(said.get(one.first)),
            "forgotten": _is_forgotten(said.get(one.first or one.words)),
            "said": last,
            "process": one.process,
            "turns": one.turns,
            "failed": one.has_failed,
            "thinks": thinks,
            "waits": waits,
            "cost": spent.cost,
            "worth": spent.worth,
        }

    async def questions(self) -> JsonObject:
        """Return the open questions, oldest first, the latest answers, and the viewer."""
        left = await self._ready()
        questions = self._questions()
        names = await self._names_to_ask(questions)
        answered: list[JsonObject] = []
        seqs = self._journal.seqs_of_kind(QuestionAnswered)[-LATELY * 4 :]
        for entry in reversed(self._journal.readable_entries(seqs)):
            told = self._answer_as_json(entry, names)
            if told:
                answered.append(told)
        viewer = self._answers.viewer
        return {
            "still_reading": left,
            "viewer": {"id": viewer, "name": names[viewer]} if viewer else None,
            "open": [self._open_question_as_json(question, names) for question in questions],
            "answered": answered[:LATELY],
        }

    async def press(self, seq: int, value: str) -> PressRefusal | None:
        """Press a button of the question `seq` as the viewer; None on success. Raises JournalError."""
        found = of_kind(QuestionAsked, self._journal.readable_entries([seq]))
        if not found:
            return QUESTION_UNKNOWN
        [asked] = found
        names = await self._names_to_ask(found)
        return await self._answers.press(asked, value, _names_joined(self._who_may(asked.event, names)))

    async def _names_to_ask(self, questions: Sequence[Entry[QuestionAsked]]) -> Mapping[str, str]:
        ids = sorted(self._answers.owners.union(*[question.event.to for question in questions]))
        names = await asyncio.gather(*[self._named(id) for id in ids])
        return {id: name or NAMELESS for id, name in zip(ids, names, strict=True)}

    @property
    def open_question_count(self) -> int:
        return len(self._questions())

    def _questions(self) -> Sequence[Entry[QuestionAsked]]:
        """Return the open questions. Those of branches are left out, since the root thread asks them."""
        pending = [
            entry
            for entry in self._journal.pending_entries(QuestionAsked)
            if root_of(entry.thread) == entry.thread
        ]
        return [entry for entry in pending if entry.event.text or entry.event.choices or entry.event.words]

    def _open_question_as_json(self, entry: Entry[QuestionAsked], names: Mapping[str, str]) -> JsonObject:
        asked = self._question_as_json(entry, names)
        pressed = self._answers.pending_press(entry)
        return {
            **asked,
            "yours": self._answers.may_press(entry),
            "why": self._answers.refusal_reason(entry, _names_joined(asked["to"]["names"])),
            "pressed": pressed and {"by": self._name(pressed.author), "value": pressed.event.value},
        }

    def _question_as_json(self, entry: Entry[QuestionAsked], names: Mapping[str, str]) -> JsonObject:
        asked = entry.event
        return {
            **self._place_as_json(entry.thread),
            "seq": entry.seq,
            "at": entry.at,
            "text": asked.text,
            "choices": asked.choices,
            "labels": [button_label(asked, choice) for choice in asked.choices],
            "words": asked.words,
            "to": self._recipients_as_json(asked, names),
            "link": self._link(entry),
        }

    def _link(self, asked: Entry[QuestionAsked]) -> str:
        """Return the URL of a question's message, or of its conversation; empty in a rehearsal."""
        opened = next(self._journal.latest_first(root_of(asked.thread), ConversationOpened), None)
        if opened is None:
            return ""
        ts = root = opened.event.ts
        for message in of_kind(SpeechFinished, self._journal.readable_entries(asked.event.said)):
            ts = message.event.ts
        return self._slack.link(opened.event.channel, ts, root) if ts else ""

    def _answer_as_json(self, entry: Entry[QuestionAnswered], names: Mapping[str, str]) -> JsonObject | None:
        answered = entry.event
        found = self._journal.readable_entries([answered.asked])
        if not found or entry.forgotten or found[0].forgotten:
            return None
        [asked] = found
        if not (asked.event.choices or asked.event.words):
            return None
        return {
            **self._question_as_json(asked, names),
            "answer": truncated(answered.value, LONGEST),
            "by": names.get(answered.by) or self._conversations.names.get(answered.by, ""),
            "answered_at": entry.at,
            "answered_seq": entry.seq,
        }

    def _recipients_as_json(self, asked: QuestionAsked, names: Mapping[str, str]) -> JsonObject:
        return {"names": self._who_may(asked, names), "you": self._answers.viewer in asked.to}

    def _who_may(self, asked: QuestionAsked, names: Mapping[str, str]) -> Sequence[JsonObject]:
        return [{"id": id, "name": names.get(id) or self._name(id)} for id in sorted(asked.to)]

    async def people(self) -> JsonObject:
        """Return known people, best known first, and the number of notes about others."""
        left = await self._ready()
        known = self._people_known.channels
        met = self._met()
        shown = heapq.nsmallest(MOST, met, key=self._rank)
        return {
            "still_reading": left,
            "people": [self._person_as_json(id, len(known.get(id, ()))) for id in shown],
            "more": len(met) - len(shown),
            "others": self._notes.count_others(met),
        }

    def _met(self) -> Set[str]:
        met = self._conversations.talks.keys() | self._people_known.channels.keys()
        return met - self._conversations.bots

    def _rank(self, id: str) -> tuple[int, str]:
        talks = self._conversations.talks.get(id)
        return -(talks.count if talks else 0), self._name(id).casefold()

    def _person_as_json(self, id: str, known: int) -> JsonObject:
        name = self._name(id)
        talks = self._conversations.talks.get(id)
        return {
            "id": id,
            "name": name,
            "owner": id in self._answers.owners,
            "threads": talks.count if talks else 0,
            "at": talks.at if talks else None,
            "known": known,
            "noted": self._notes.count(id),
            **self._spending.person_total(id).as_json(),
        }

    async def person(self, id: str) -> JsonObject:
        """Return knowledge and notes about a person; without `id`, notes about unknown people."""
        left = await self._ready()
        models: list[Entry[Any]] = []
        name = ""
        if id:
            await self._models.load([id])
            models = self._journal.readable_entries([chain.seqs[-1] for chain in self._models.chains(id)])
            name = self._name(id)
            notes = self._notes.notes_about(id)
            noted = len(notes)
        else:
            met = self._met()
            notes = self._notes.notes_about_others(met, NOTES)
            noted = self._notes.count_others(met)
        known = [self._text_as_json(entry, self._models.own_lines(entry)) for entry in reversed(models)]
        return {
            "still_reading": left,
            "id": id,
            "name": name,
            "known": [one for one in known if one["text"]],
            "notes": self._texts_as_json(notes[-NOTES:]),
            "more": max(noted - NOTES, 0),
        }

    def _texts_as_json(self, seqs: Sequence[int]) -> Sequence[JsonObject]:
        entries = self._journal.readable_entries(seqs)
        return [
            self._text_as_json(entry, entry.event.text) for entry in reversed(entries) if entry.event.text
        ]

    def _text_as_json(self, entry: Entry[Any], text: str) -> JsonObject:
        return {
            **self._place_as_json(entry.thread),
            "seq": entry.seq,
            "at": entry.at,
            "text": text,
            "about": getattr(entry.event, "about", ""),
        }

    async def names(self, ids: Sequence[str]) -> JsonObject:
        """Return names by id, without unknown ones."""
        await self._ready()
        names = await asyncio.gather(*[self._named(id) for id in ids])
        return {"names": {id: name for id, name in zip(ids, names, strict=True) if name}}

    async def _named(self, id: str) -> str:
        group = self._conversations.latest_in_channel(id)
        if group and group.where == "group":
            return self._conversations.place_name(group)
        return self._conversations.names.get(id, "") or await self._slack.name_of(id)

    async def costs(self, days: int) -> JsonObject:
        """Return the costs of the last `days`: by day, conversation, person and model."""
        return await self._read_consistently(partial(self._costs, days))

    async def _costs(self, days: int) -> JsonObject:
        left = await self._ready()
        today = utc_day(self._budget.now())
        first = date.fromisoformat(today) - timedelta(days=days - 1)
        since = first.isoformat()
        by_day = await self._spending.totals_by("day", since)
        whole = SpendingTotal()
        for spent in by_day.values():
            whole.add(spent)
        each_day: list[JsonObject] = []
        for number in range(days):
            day = (first + timedelta(days=number)).isoformat()
            each_day.append({"day": day, **by_day[day].as_json()})
        threads = await self._spending.dearest_by("thread", since, DEAREST)
        people = await self._spending.dearest_by("person", since, MOST)
        models = await self._spending.dearest_by("model", since, MOST)
        return {
            "still_reading": left,
            "daily": self._budget.daily,
            "today": today,
            "whole": whole.as_json(),
            "days": each_day,
            "threads": [{**self._place_as_json(id), **spent.as_json()} for id, spent in threads],
            "people": [{"id": id, "name": self._name(id), **spent.as_json()} for id, spent in people],
            "models": [{"name": name, **spent.as_json()} for name, spent in models],
        }

    def _place_as_json(self, thread: str) -> JsonObject:
        one = self._conversations.get(thread)
        if one:
            place = self._conversations.place_name(one)
            said = self._entries_by_seq([one.first]).get(one.first)
            return {
                "thread": one.thread,
                "where": one.where,
                "place": place,
                "private": self._conversations.is_private(one),
                "began": _shown(said),
                "forgotten": _is_forgotten(said),
            }
        told = {"thread": thread, "where": "", "place": "", "private": False, "began": "", "forgotten": False}
        if thread == INNER:
            told["place"] = "Inner life"
        return told

    def _entries_by_seq(self, seqs: Sequence[int]) -> Mapping[int, Entry[Any]]:
        return {entry.seq: entry for entry in self._journal.readable_entries(seqs)}

    def _name(self, person: str) -> str:
        return self._conversations.names.get(person, NAMELESS)

    def _people_as_json(self, ids: Collection[str]) -> Sequence[JsonObject]:
        return [self._id_and_name(id) for id in sorted(ids)]

    def _id_and_name(self, id: str) -> JsonObject:
        return {"id": id, "name": self._name(id)}


def _names_joined(people: Sequence[JsonObject]) -> str:
    return " or ".join(person["name"] for person in people) or NAMELESS


def _shown(said: Entry[Any] | None) -> str:
    """Return the shortened text of a message; empty if missing or forgotten."""
    if said is None:
        return ""
    return truncated(" ".join(message_lines(said.event)).strip(), LONGEST)


def _is_forgotten(said: Entry[Any] | None) -> bool:
    return said is not None and bool(said.forgotten)
