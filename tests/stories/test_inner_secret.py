"""Secret of a DM against leaks by every command."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daemon.app.discovery import all_actions
from daemon.inner_life.records import RECORD_TEXT
from daemon.kinds import AudienceChanged
from daemon.settings.limits import AllowedProgram, AllowedPrograms
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import ECHO, TEAM
from tests.stories.hostile import (
    LEAK,
    NUMBER,
    SECRET,
    Command,
    Known,
    Mind,
    all_of,
    broken,
    looks,
    tries,
    written,
)
from tests.stories.speaking import thread_of
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, staged

LAST = ("cycle.idle", "cleanup.process_log", "cleanup.responses", "cleanup.notes", "notes.read")
"""Commands tried last: they end the view or hide evidence."""
NEVER = {f"{family}.delete" for family in RECORD_TEXT} | {
    *("help", "files.read", "mesh.ask", "mesh.share", "process.stop", "process.mark", "diary.unpin")
}
"""Commands whose attempts must be refused."""


@dataclass(kw_only=True)
class Story:
    """Stage, hostile model and targets."""

    stage: Stage
    mind: Mind
    notes: dict[str, int] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    here: str = ""
    """Note whose conversation the next tick views; empty: none."""

    async def say(self, name: str, channel: str, text: str) -> None:
        place = name if channel != GENERAL else "general"
        ts = await self.stage.say(name, channel, text)
        self.notes[place] = self.stage.entries("message")[-1].seq
        self.threads[place] = thread_of(self.stage, channel, ts)

    async def tick(self, *answers: str) -> None:
        for answer in answers:
            self.mind.answers.append(answer)
            before = len(self.ticks())
            while len(self.ticks()) == before:
                await self.stage.clock.leap(NUMBER + 60.0)
                await self.stage.soul.worker.sweep()
                await self.stage.settled()
            await self.stage.until(lambda: not self.stage.pending("process-started"))
            await self.stage.settled()
            assert not self.mind.answers

    async def look(self, commands: Sequence[Command], thought: str, then: str, mark: str = "") -> None:
        *first, last = written(commands, thought, mark=mark)
        await self.tick(*(_and_read(one, self.notes.get(self.here)) for one in first))
        await self.tick(_and_read(last, self.notes.get(then)))
        if not then:
            await self.tick(f"I see, and sleep. {thought}")  # shown first, in this view
        self.here = then

    def ticks(self) -> Sequence[object]:
        return [one for one in self.stage.entries("tick") if one.event.outcome != "asleep"]

    def known(self) -> Known:
        processes = [one.seq for one in self.stage.entries("process-started", "thread-spawned")]
        return Known(
            notes=self.notes,
            records=self.records,
            threads=self.threads,
            processes=processes,
            last=self.stage.soul.journal.last_seq_of_all(),
        )

    def added(self) -> dict[str, int]:
        ran = [one for one in self.stage.entries("command") if one.event.ok]
        return {f"{one.event.name} {one.seq}": one.seq for one in ran if one.event.name.endswith(".add")}


def _and_read(answer: str, note: int | None) -> str:
    args = {"ids": [note]} if note else {"seconds": 60}
    line = json.dumps({"type": "notes.read" if note else "cycle.idle", "args": args})
    return answer.replace("# End of commands", f"{line}\n# End of commands")


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    async with staged(tmp_path) as stage:
        mind = Mind(branches={"Alice told me": f"<claudius-response>It is {SECRET}.</claudius-response>"})
        stage.model.script = mind
        folder = tmp_path / "files"
        folder.mkdir()
        (folder / "fern.md").write_text("A fern is green.")
        await stage.wake(
            inner_life_enabled=True,
            inner_life_daily_usd=1_000.0,
            inner_life_daily_messages=1_000,
            budget_daily_usd=10_000.0,
            mesh_daily=1_000,
            owner_user_ids=frozenset({CAROL_HERSELF.id}),
            allowed_bots=frozenset({ECHO.user}),
            knowledge_dirs=(folder,),
            process_commands=AllowedPrograms({"say": AllowedProgram(argv=("echo", "--", "{words}"))}),
        )
        story = Story(stage=stage, mind=mind)
        await story.say("bob", BOB, "Hello, it is Bob.")
        await story.say("alice", GENERAL, f"{ME} hello, all.")
        await story.say("carol", CAROL, "Hello, it is Carol.")
        await story.say("alice", ALICE, f"My secret is {SECRET} #{SECRET}, and its number is {NUMBER}.")
        yield story


async def with_public_records(story: Story) -> None:
    commands: list[Command] = [
        ("diary.add", {"text": "A day like any other."}),
        ("concepts.add", {"name": "fern", "description": "a plant"}),
        ("concepts.add", {"name": "moss", "description": "another one"}),
        ("links.add", {"from": "fern", "to": "moss", "relation": "grows beside"}),
        ("concepts.add", {"name": "stone", "description": "grey"}),
    ]
    await story.look(commands, "I begin.", "alice")
    ids = list(story.added().values())
    story.records = dict(zip(("diary", "concepts", "other", "links", "more"), ids, strict=True))


async def tells(story: Story) -> None:
    known = story.known()
    tried = tries(known)
    assert set(tried) == set(looks(known)) == {one.name for one in all_actions().commands}
    await story.look(all_of(tried, but=LAST), f"I know of {SECRET}.", "alice", mark=SECRET)
    story.records |= story.added()
    await story.tick(broken(SECRET))
    await story.look(all_of(tried, but=LAST)[:3], f"I know of {NUMBER}.", "alice", mark=SECRET)
    for _ in range(2):
        await story.tick(f"Again and again {SECRET}.")
    await story.look([("notes.list", {})], f"I leave {SECRET}.", "bob", mark=SECRET)


def carried_out(story: Story) -> set[str]:
    ran = [one.event for one in story.stage.entries("command")]
    return {one.name for one in ran if one.ok and one.view == story.threads["alice"]}


def leaks(story: Story, since: int) -> list[str]:
    asked = [text for view, text in story.mind.asked[since:] if view != story.threads["alice"]]
    return [text for text in asked if LEAK.search(text)]


def told(story: Story) -> set[str]:
    calls = [(method, args) for method, args in story.stage.wire.calls if LEAK.search(str(args))]
    return {args.get("channel", method) for method, args in calls}


async def test_it_never_arrives(story: Story, caplog: pytest.LogCaptureFixture) -> None:
    stage, mind = story.stage, story.mind
    await with_public_records(story)
    begun = len(mind.asked)
    await tells(story)
    ticks = [text for view, text in mind.asked[begun:] if view]
    assert len(ticks) > 5
    assert all(LEAK.search(text) for text in ticks), "it is there to be told"
    assert carried_out(story) >= set(tries(story.known())) - {*LAST, *NEVER} | {"notes.read"}
    [to_say] = stage.entries("to-say")
    assert to_say.thread == story.threads["alice"], "what is in view may be said there, and nowhere else"
    begun = len(mind.asked)
    for then in ("general", "carol", "", "bob"):
        await story.look(all_of(looks(story.known()), but=LAST), f"I look before {then}.", then)
        await stage.sleep()
        await stage.wake()
        await stage.settled()
    for name, channel in (("bob", BOB), ("carol", CAROL), ("bob", GENERAL)):
        await stage.say(name, channel, f"{ME} what do you know of Alice?")
    assert {view for view, _ in mind.asked[begun:]} >= {"", *story.threads.values()} - {
        story.threads["alice"]
    }
    await story.look([("notes.list", {})], "I go back.", "alice")
    last = all_of({name: tries(story.known())[name] for name in LAST if name != "notes.read"})
    await story.tick(*written(last, "I let go of it.", mark=SECRET))
    story.here = ""
    seen = [text for view, text in mind.asked[begun:] if view == story.threads["alice"]]
    assert any(f"Alice told me of {SECRET}" in text for text in seen), "it is not forgotten"
    await story.look(all_of(looks(story.known()), but=LAST), "I wake.", "")
    assert not leaks(story, begun)
    assert not stage.entries("asked")
    assert told(story) == {ALICE}
    assert not [one for one in caplog.messages if LEAK.search(one)]


async def test_a_branch_tells_no_branch_of_another_view(story: Story) -> None:
    mind = story.mind
    mind.branches = {
        "Wait for words": '<set-timer in="90d" label="wait"/>',
        "Tell it on": f'<send to="sess-inner.think">It is {SECRET}.</send>',
    }
    await story.look([("help", {})], "I begin.", "bob")
    await story.look([("process.start", think("Wait for words."))], "I listen.", "alice")
    await story.look([("process.start", think(f"Tell it on: {SECRET}."))], "I tell.", "bob", mark=SECRET)
    begun = len(mind.asked)
    await story.look([("process.list", {})], "Did I hear of it?", "bob")
    await story.look([("process.list", {})], "Well?", "bob")
    assert "sess-inner.think-1" in str([one.event.thread for one in story.stage.entries("thread-spawned")])
    assert not leaks(story, begun)
    inside = [one for one in story.stage.entries("inner-message") if one.thread == "sess-inner.think"]
    assert not [one for one in inside if LEAK.search(one.event.text)]


def think(task: str) -> dict[str, object]:
    return {"name": "think", "slots": {"task": task}}


async def test_nobody_is_named_who_spoke_only_elsewhere(story: Story) -> None:
    asks: Command = ("message.send", {"to": "nobody", "text": "Hello?"})
    await story.look([asks], "Who is there?", "bob")
    await story.look([asks], "Who is here?", "bob")
    await story.look([("help", {})], "I know.", "bob")
    told = re.findall(r"a person by name or id \(([^)]*)\)", "\n".join(text for _, text in story.mind.asked))
    public, bobs = dict.fromkeys(told)
    assert (public, bobs) == ("Alice", "Alice, Bob")


async def test_what_was_thought_in_a_channel_is_hidden_there_from_those_who_come_later(story: Story) -> None:
    await story.look([("help", {})], "I begin.", "general")
    thoughts: list[Command] = [
        ("diary.add", {"text": f"Inside, {SECRET} is talked of."}),
        ("process.start", {"name": "say", "slots": {"words": SECRET}}),
        ("cycle.filter", {"tags": [SECRET]}),
    ]
    await story.look(thoughts, f"I think of {SECRET}.", "general")
    begun = len(story.mind.asked)
    await story.look([("diary.search", {"query": "inside"})], "I go on.", "general")
    assert story.mind.asked[begun][1].count(SECRET) > len(thoughts), "all of it is there"
    shared = AudienceChanged(team=TEAM, channel=GENERAL, audience="shared")
    await story.stage.soul.journal.append(f"slack:{TEAM}", shared, key="shared", author="core")
    begun = len(story.mind.asked)
    for thought in ("Who is there?", "And now?"):
        await story.look([("process.list", {}), ("llm_memory.list", {})], thought, "general")
    assert story.mind.asked[begun][0] == story.threads["general"]
    assert not leaks(story, begun)
