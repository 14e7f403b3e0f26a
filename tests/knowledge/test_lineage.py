"""All entries derived from a person's messages, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import ThreadEnded, ThreadSpawned, WaitBegan
from daemon.engine.kinds import WaitEnded as Over
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    ActionObserved,
    ActionStarted,
    AmbientMessage,
    CellRan,
    CommandRan,
    ContextCleared,
    EarlierMessagesFetched,
    IncomingMessage,
    InternalMessage,
    MemoryNote,
    NotesShown,
    PersonModelWritten,
    ProgramEnded,
    ProgramStarted,
    PromptVersion,
    ReactionChanged,
    ReadingBegan,
    ReadingEnded,
    RunMessage,
    SoulTurnBegan,
    SpeechFinished,
    TickLogged,
)
from daemon.knowledge.provenance import ForgetScope, Provenance, QuotationFinder
from tests.clock import FakeClock
from tests.knowledge.office import Office
from tests.turn.spending import called

E = TypeVar("E", bound=Event)
BEES = "my forty beehives stand behind the windmill"


class Life(Office):
    """Office whose soul takes turns."""

    async def begin(self, thread: str, *inputs: Entry[Event]) -> str:
        execution = f"{thread}@{inputs[0].seq}"
        event = SoulTurnBegan(execution=execution, inputs=tuple(one.seq for one in inputs))
        await self.journal.append(thread, event, key=f"{execution}/began", cause=inputs[0].seq)
        return execution

    async def step(self, execution: str, event: E, thread: str = "", cause: int | None = None) -> Entry[E]:
        key = f"{execution}/{event.kind}#{self.journal.last_seq_of_all()}"
        where = thread or execution.partition("@")[0]
        entry, _ = await self.journal.append(where, event, key=key, author="soul", cause=cause)
        return entry

    async def note(self, thread: str, event: E) -> Entry[E]:
        return await self.step(f"{thread}@{self.journal.last_seq_of_all()}", event)

    def forgotten(self, person: str = "UAlice", notes: tuple[int, ...] = ()) -> set[int]:
        wanted = ForgetScope(person=person, upto=self.journal.last_seq_of_all(), notes=notes)
        lineage = Provenance(self.journal.kinds, wanted, QuotationFinder())
        for entry in self.journal.entries_since(0, 100_000):
            lineage.add_entry(entry)
        return lineage.seqs


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        yield Life(journal)


async def test_all_versions_of_what_they_said_and_nothing_that_others_did(life: Life) -> None:
    thread = await life.open("general")
    said = await life.say(thread, "Alice", BEES)
    heard = await life.hear(thread, "Alice", "and honey")
    edited = await life.edit(said, "fifty", "1790000009.000100")
    deleted = await life.delete(heard)
    noticed = await life.write(
        thread, AmbientMessage(user="UAlice", name="Alice", text="psst", ts="1790000010.000100")
    )
    smiled = await life.write(
        thread, ReactionChanged(user="UAlice", name="Alice", emoji="bee", on="1", ts="1790000011.000100")
    )
    await life.say(thread, "Bob", "What a day")
    theirs = {one.seq for one in (said, heard, edited, deleted, noticed, smiled)}
    assert life.forgotten() == theirs


async def test_what_an_execution_does_after_it_has_seen_any_of_it(life: Life) -> None:
    thread = await life.open("general")
    bob = await life.say(thread, "Bob", "Hello")
    execution = await life.begin(thread, bob)
    before = await life.step(execution, called(text="Hello Bob"))
    alice = await life.hear(thread, "Alice", BEES)
    found = await life.step(execution, EarlierMessagesFetched(seqs=(alice.seq,)))
    call = await life.step(execution, called(text="Bees!"))
    spoken = await life.step(execution, SpeechFinished(ts="1790000100.000100", text="Bees!"))
    summed = await life.step(execution, ContextCleared(text="About bees", last=alice.seq))
    assert life.forgotten() == {alice.seq, found.seq, call.seq, spoken.seq, summed.seq}
    later = await life.begin(thread, await life.say(thread, "Bob", "So?"))
    seen = await life.step(later, called(text="So bees.", seqs=(summed.seq,)))
    assert seen.seq in life.forgotten()
    assert before.seq not in life.forgotten()


async def test_branches_and_what_comes_back_from_them(life: Life) -> None:
    thread = await life.open("general")
    execution = await life.begin(thread, await life.say(thread, "Alice", BEES))
    child = f"{thread}.look"
    spawned = await life.step(execution, ThreadSpawned(thread=child))
    first = await life.step(execution, InternalMessage(sender=thread, text="look"), child, spawned.seq)
    branch = await life.begin(child, first)
    thought = await life.step(branch, called(text="Bees, then."))
    await life.begin(thread, await life.say(thread, "Bob", "And me?"))
    parent = f"{thread}@{life.journal.last_seq_of_all() - 1}"
    wait = await life.step(parent, WaitBegan(closed=(spawned.seq,), execution=parent))
    key = f"{branch}/ended#1"
    ended, _ = await life.journal.append(
        child, ThreadEnded(result="Bees"), key=key, cause=first.seq, closes=[spawned.seq]
    )
    over, _ = await life.journal.append(
        thread, Over(answers=wait.key), key=f"{wait.key}!woke", cause=wait.seq
    )
    found = life.forgotten()
    assert {spawned.seq, first.seq, thought.seq, ended.seq, over.seq} <= found


@pytest.mark.parametrize(
    "quotes",
    [
        ActionObserved(name="SearchMemory", text=f"#general, 2026-01-01, Alice: {BEES}"),
        ActionObserved(name="wiki.read", text="…", details={"document": {"name": "a", "text": f"x\n{BEES}"}}),
        ActionStarted(name="wiki.write", args={"arguments": {"text": [BEES]}, "for": [], "digest": ""}),
        CellRan(text=f"['{BEES.upper()}!']"),
        CellRan(text="(no output)", final=BEES),
        ReadingBegan(question="What is kept?", shape="", fault=f"There are: {BEES}.txt"),
        ReadingEnded(answer=BEES, reason="answered"),
        RunMessage(text="They wrote: forty  beehives *stand* behind the windmill."),
        called(trailing=f"<notes>\n{BEES}</notes>"),
    ],
    ids=lambda quotes: str(quotes.kind),
)
async def test_who_quotes_them_in_another_conversation(life: Life, quotes: Event) -> None:
    await life.say(await life.open("general"), "Alice", BEES)
    elsewhere = await life.open("random")
    execution = await life.begin(elsewhere, await life.say(elsewhere, "Bob", "What did she say?"))
    before = await life.step(execution, called(text="I look it up."))
    quoted = await life.step(execution, quotes)
    answer = await life.step(execution, called(text="Something about bees."))
    found = life.forgotten()
    assert {quoted.seq, answer.seq} <= found
    assert before.seq not in found


async def test_a_short_word_is_known_again_behind_their_name(life: Life) -> None:
    await life.say(await life.open("general"), "Alice", "yes, Hugo")
    elsewhere = await life.open("random")
    execution = await life.begin(elsewhere, await life.say(elsewhere, "Bob", "yes"))
    other = await life.step(execution, ActionObserved(name="SearchMemory", text="Bob: yes"))
    quoted = await life.step(
        execution, ActionObserved(name="SearchMemory", text="#general, Alice: yes, Hugo")
    )
    assert quoted.seq in life.forgotten()
    assert other.seq not in life.forgotten()


async def test_what_the_owner_wrote_gives_nobody_away(life: Life) -> None:
    sentence = "How may I help you with that today?"
    text = PromptVersion(name="prompts/hello", text=f"Say: {sentence}")
    await life.journal.append("soul", text, key="text:1")
    await life.say(await life.open("general"), "Alice", sentence)
    elsewhere = await life.open("random")
    execution = await life.begin(elsewhere, await life.say(elsewhere, "Bob", "Hello"))
    call = await life.step(execution, called(trailing=f"Say: {sentence}"))
    assert call.seq not in life.forgotten()


async def test_what_is_noted_about_them(life: Life) -> None:
    general, direct = await life.open("general"), await life.open("D1", "dm")
    await life.say(general, "Alice", "Hello")
    await life.say(direct, "Bob", "Alice has a secret")
    learned = await life.note(general, PersonModelWritten(person="UAlice", name="Alice", text="shy", since=0))
    noted = await life.note(direct, MemoryNote(text="has a secret", about="alice"))
    about_bob = await life.note(direct, MemoryNote(text="talks", about="Bob"))
    wrote = await life.begin(direct, await life.say(direct, "Bob", "She also limps"))
    call = await life.step(wrote, called(text="Remember that Alice limps."))
    limps = await life.step(wrote, MemoryNote(text="limps", about="Alice"))
    found = life.forgotten()
    assert {learned.seq, noted.seq, limps.seq} <= found
    assert call.seq in found, "it wrote the note"
    assert about_bob.seq not in found


async def test_a_name_is_whose_it_was_when_it_was_written(life: Life) -> None:
    thread = await life.open("general")
    await life.say(thread, "Bob", "Hello")
    noted = await life.note(thread, MemoryNote(text="sails", about="Bob"))
    taken = await life.say(thread, "Alice", "Now I am Bob")
    renamed = await life.journal.append(
        thread,
        type(taken.event)(address="dm", user="UAlice", name="Bob", text="Bob!", ts="1790000200.000100"),
        key="msg:renamed",
        author="UAlice",
    )
    unsure = await life.note(thread, MemoryNote(text="says so", about="Bob"))
    found = life.forgotten()
    assert renamed[0].seq in found
    assert noted.seq not in found
    assert unsure.seq not in found


async def test_ticks_records_and_processes_that_saw_it(life: Life) -> None:
    said = await life.say(await life.open("general"), "Alice", BEES)
    first = f"{INNER}@{said.seq}"
    thought = await life.step(first, called(trailing="<context>Bees, then.</context>"))
    ticked = await life.step(first, TickLogged(tick=1, outcome="thought", saw=(said.seq,)))
    second = f"{INNER}@{ticked.seq}"
    idle = await life.step(second, TickLogged(tick=2, outcome="thought"))
    shown = await life.step(second, CommandRan(tick=2, cmd_id="a", name="notes.read", shows=(said.seq,)))
    kept = await life.step(second, CommandRan(tick=2, cmd_id="b", name="diary.add", args={"text": "bees"}))
    started = await life.step(second, ProgramStarted(name="wc", slots={"file": "bees"}))
    ended, _ = await life.journal.append(
        INNER,
        ProgramEnded(process=started.seq, name="wc", status="ok", result="40"),
        key=f"{started.key}!ended",
        cause=started.seq,
    )
    third = f"{INNER}@{ended.seq}"
    read = await life.step(third, CommandRan(tick=3, cmd_id="c", name="diary.read", shows=(kept.seq,)))
    found = life.forgotten()
    assert thought.seq in found, "it was thought of with this in sight"
    assert {ticked.seq, shown.seq, kept.seq, started.seq, ended.seq, read.seq} <= found
    assert idle.seq not in found


async def test_one_note_alone(life: Life) -> None:
    thread = await life.open("general")
    said = await life.say(thread, "Alice", BEES)
    learned = await life.note(thread, PersonModelWritten(person="UAlice", name="Alice", text=BEES, since=0))
    other = await life.note(thread, PersonModelWritten(person="UAlice", name="Alice", text="paints", since=0))
    execution = await life.begin(thread, await life.say(thread, "Bob", "Hello"))
    saw = await life.step(execution, called(trailing=f"<notes>{BEES}</notes>"))
    found = life.forgotten(notes=(learned.seq,))
    assert {learned.seq, saw.seq} <= found
    assert found.isdisjoint({said.seq, other.seq})


async def test_a_command_of_theirs_goes_with_the_note_that_it_was_about(life: Life) -> None:
    direct = await life.open("D1", "dm")
    learned = await life.note(direct, PersonModelWritten(person="UAlice", name="Alice", text=BEES, since=0))
    asked = IncomingMessage(address="dm", user="UAlice", name="Alice", text="notes", ts="1790000300.000100")
    command, _ = await life.journal.append(
        direct, replace(asked, command="notes"), key="msg:command", author="UAlice"
    )
    said, _ = await life.journal.append(direct, asked, key="msg:said", author="UAlice")
    execution = await life.begin(direct, command, said)
    shown = await life.step(execution, NotesShown(person="UAlice", seqs=(learned.seq,)))
    found = life.forgotten(notes=(learned.seq,))
    assert {command.seq, shown.seq} <= found
    assert said.seq not in found
