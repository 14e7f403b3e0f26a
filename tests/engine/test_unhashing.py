"""Forgotten text without remaining hashes in steps or keys."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.engine.context import Context
from daemon.engine.event import UNHASHED, StepEvent, fingerprint
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import (
    AnswerAwaited,
    AttemptFailed,
    EntriesForgotten,
    ExecutionRestarted,
    Intent,
    Outcome,
    StepResult,
    TurnBegan,
    TurnEnded,
)
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.function_programs import said_to, say, working
from tests.engine.scenario import Pressed, Said
from tests.engine.test_digests import made_older
from tests.engine.test_erasing import Frail, bytes_of, copied

SECRET = "yes"
"""Secret short enough to guess from its hash."""
NAME = re.compile(r"/:([0-9a-f]{12})#")


def hashes_in(home: Path) -> set[bytes]:
    found = set[bytes]()
    with closing(sqlite3.connect(home / "journal.db")) as db:
        for body, key, digest in db.execute("select body, key, digest from entry"):
            found |= {digest, digest.hex().encode()}
            found.add(str(json.loads(body).get("fingerprint", "")).encode())
            found.update(name.encode() for name in NAME.findall(key))
    return found - {b"", UNHASHED.encode()}


def left(home: Path, hashes: set[bytes]) -> set[bytes]:
    data = bytes_of(home)
    return {one for one in hashes if one in data}


def guesses(*contents: tuple[object, ...]) -> set[bytes]:
    return {fingerprint(*content)[:12].encode() for content in contents}


class RecordingProgram:
    def __init__(self) -> None:
        self.done = list[str]()
        self.ended = list[object]()

    async def body(self, ctx: Context) -> None:
        [words] = said_to(ctx) or [""]
        heard = await ctx.run("hear", lambda: self._do("heard"), asks=words)

        async def sub(context: Context) -> str:
            async def deeper(inner: Context) -> str:
                return str(await inner.run("deeper", lambda: self._do("deeper"), asks=words))

            await context.gather((context.context_about("more", words), deeper))
            return str(await context.run("call", lambda: self._do("called"), asks=words))

        told = await ctx.gather(
            (ctx.context_about("call", words), sub), (ctx.context_about("other", words), sub)
        )
        await ctx.effect(Intent(name="post"), lambda: self._post(words), Outcome(unknown=True))
        await ctx.record(StepResult(value=len(words)), "kept")
        await ctx.sleep(60)
        self.ended.append((heard, told))

    async def _do(self, what: str) -> str:
        self.done.append(what)
        return what

    async def _post(self, words: str) -> Outcome:
        self.done.append("post")
        return Outcome(result=f"posted {len(words)}")


async def wake(clock: FakeClock, worker: Worker) -> None:
    await clock.advance(61)
    await worker.wait_until_idle()


async def forget(journal: Journal, seqs: list[int]) -> None:
    await journal.forget(seqs, thread="soul", key=f"wish:{seqs[0]}", why="Ann wants it")


async def test_no_hash_of_what_was_said_is_left_in_any_file(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, "something else", "bob")
        await say(journal, SECRET)
        await worker.wait_until_idle()
        before = hashes_in(tmp_path)
        made = guesses(("call", SECRET), ("other", SECRET), ("more", SECRET))
        assert made <= before
        anns, bobs = (
            {entry.event.fingerprint.encode() for entry in journal.thread_entries(thread, StepEvent)}
            for thread in ("ann", "bob")
        )
        anns -= bobs  # a joint question derives from nobody's text
        assert len(anns) > 3
        [said] = journal.thread_entries("ann", Said)
        [digest] = [digest for row, digest in journal.all_rows_with_digests() if row[0] == said.seq]
        assert isinstance(digest, bytes)
        await forget(journal, [said.seq])
        assert left(tmp_path, anns | made | {digest}) == set()
        assert {one.event.fingerprint for one in journal.thread_entries("ann", StepResult)} == {UNHASHED}
        assert UNHASHED not in {one.event.fingerprint for one in journal.thread_entries("bob", StepResult)}
        assert verify(journal).violations == []


async def test_such_steps_are_read_back_without_comparison(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        done = list(program.done)
        [said] = journal.thread_entries("ann", Said)
        await forget(journal, [said.seq])
    async with working(tmp_path, clock, program.body) as (journal, worker):  # the next start
        await wake(clock, worker)
        assert not journal.entries_of_kind(ExecutionRestarted)
        assert not journal.entries_of_kind(AttemptFailed)
        assert [one.event.outcome for one in journal.entries_of_kind(TurnEnded)] == ["suspended", "completed"]
    assert program.done[: len(done)] == done
    assert "heard" not in program.done[len(done) :]
    assert "post" not in program.done[len(done) :], "what the world sees is not done again"
    assert program.ended == [("heard", ["called", "called"])]


async def test_what_a_step_asks_is_still_compared_where_nothing_was_forgotten(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await say(journal, "something else", "bob")
        await worker.wait_until_idle()
        [said] = journal.thread_entries("bob", Said)
        await forget(journal, [said.seq])

    async def other(ctx: Context) -> None:
        await ctx.run("hear", lambda: program._do("heard"), asks="another thing")

    async with working(tmp_path, clock, other) as (journal, worker):
        await wake(clock, worker)
        [why] = [entry.event.why for entry in journal.thread_entries("ann", ExecutionRestarted)]
        assert "asks for something else" in why


async def test_a_copy_of_the_same_hash_goes_with_it(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        [intent], [outcome] = journal.entries_of_kind(Intent), journal.entries_of_kind(Outcome)
        assert intent.event.fingerprint == outcome.event.fingerprint
        await forget(journal, [intent.seq])
        assert left(tmp_path, {intent.event.fingerprint.encode()}) == set()
        assert journal.entry(outcome.seq).event == replace(outcome.event, fingerprint=UNHASHED)


async def test_a_yes_to_what_is_forgotten_is_no_yes_to_another_question(tmp_path: Path) -> None:
    answers = list[object]()

    def asking(name: str) -> Callable[[Context], Awaitable[None]]:
        async def body(ctx: Context) -> None:
            answers.append(await ctx.ask(name, AnswerAwaited()))

        return body

    async def press(journal: Journal, number: int, asked: str) -> None:
        pressed = Pressed(text="yes", answers=asked)
        await journal.append("ann", pressed, key=f"press:{number}", author="ann")

    clock = FakeClock()
    async with working(tmp_path, clock, asking("delete X")) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        [old] = journal.entries_of_kind(AnswerAwaited)
    async with working(tmp_path, clock, asking("delete Y")) as (journal, worker):  # changed code
        await press(journal, 1, old.key)
        await worker.wait_until_idle()
        [new] = journal.pending_entries(AnswerAwaited)
        assert (journal.is_pending(old.seq), new.event.execution) == (False, old.event.execution)
        await forget(journal, [entry.seq for entry in journal.thread_entries("ann", Said)])
        assert [entry.event.fingerprint for entry in journal.entries_of_kind(AnswerAwaited)] == [UNHASHED] * 2
        await press(journal, 2, old.key)
        await worker.wait_until_idle()
        assert answers == []
        await press(journal, 3, new.key)
        await worker.wait_until_idle()
        assert len(answers) == 1


async def test_what_was_forgotten_is_not_taken_over_by_an_execution_that_begins_again(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        [said] = journal.thread_entries("ann", Said)
        await forget(journal, [said.seq])

    async def first_something_else(ctx: Context) -> None:
        await ctx.run("another step", lambda: program._do("another"))
        await ctx.effect(Intent(name="post"), lambda: program._post("other"), Outcome(unknown=True))

    async with working(tmp_path, clock, first_something_else) as (journal, worker):
        await wake(clock, worker)
        assert journal.entries_of_kind(ExecutionRestarted)
        assert {entry.event.taken_from for entry in journal.entries_of_kind(Outcome, StepResult)} == {""}


@pytest.mark.parametrize("older", [False, True], ids=["", "older"])
@pytest.mark.parametrize("at", range(1, 11))
async def test_a_kill_at_any_commit_leaves_none(tmp_path: Path, at: int, older: bool) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        hashes = hashes_in(tmp_path)
        [said] = journal.thread_entries("ann", Said)
        kept = {one.seq: one.event for one in journal.entries_of_kind(TurnEnded)}
    Frail.left = at
    killed = False
    async with Journal(tmp_path / "journal.db", clock, [Said, Pressed], Frail) as journal:
        try:
            await forget(journal, [said.seq])
        except JournalError:
            killed = True
        copy = copied(tmp_path)
    assert killed == (at < 10)
    if older:
        made_older(copy / "journal.db")
    async with working(copy, clock, program.body) as (journal, worker):
        steps = {one for one in hashes if len(one) in (12, 16) and one.isalnum()}
        assert left(copy, steps) == set()
        assert {one.seq: one.event for one in journal.entries_of_kind(TurnEnded)} == kept
        await wake(clock, worker)
        assert program.ended == [("heard", ["called", "called"])]


async def test_a_key_that_is_told_elsewhere_holds_none_of_it(tmp_path: Path) -> None:
    broken = [True]

    def asking(*names: str) -> Callable[[Context], Awaitable[None]]:
        async def body(ctx: Context) -> None:
            words = SECRET if said_to(ctx) else ""

            async def fails(context: Context) -> None:
                async def deeper(inner: Context) -> None:
                    for name in names:
                        await inner.run(name, calls, asks=words)

                await context.gather((context.context_about("more", words), deeper))

            await ctx.gather((ctx.context_about("call", words), fails))
            await ctx.sleep(60)

        return body

    async def calls() -> None:
        if broken.pop() if broken else False:
            raise RuntimeError("the first attempt fails here")

    clock = FakeClock()
    async with working(tmp_path, clock, asking("first", "second")) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        await clock.advance(5)
        await worker.wait_until_idle()
    async with working(tmp_path, clock, asking("second")) as (journal, worker):  # changed code
        await wake(clock, worker)
        [failed], [again] = (
            journal.entries_of_kind(AttemptFailed),
            journal.entries_of_kind(ExecutionRestarted),
        )
        made = guesses(("call", SECRET), ("more", SECRET))
        for told in (failed.event.at, again.event.why):
            assert all(one.decode() in told for one in made)
        await forget(journal, [entry.seq for entry in journal.thread_entries("ann", Said)])
        assert left(tmp_path, made) == set()
        assert ":forgotten-" in journal.entries_of_kind(AttemptFailed)[0].event.at
        assert ":forgotten-" in journal.entries_of_kind(ExecutionRestarted)[0].event.why


DAMAGED = {
    "bytes": "cast(x'7bff7d' as text)",
    "endless": "replace(hex(zeroblob(50000)), '0', '[')",
    "a list": "'[1]'",
}


@pytest.mark.parametrize("name", DAMAGED)
async def test_damage_in_the_same_execution_keeps_nothing_from_being_forgotten(
    tmp_path: Path, name: str
) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        before = hashes_in(tmp_path)
        [said] = journal.thread_entries("ann", Said)
        [began] = journal.thread_entries("ann", TurnBegan)
        first, *_ = journal.thread_entries("ann", StepResult)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        db.execute(f"update entry set body = {DAMAGED[name]} where seq in (?, ?)", (began.seq, first.seq))
    async with Journal(tmp_path / "journal.db", clock, [Said, Pressed]) as journal:
        intents = journal.thread_entries("ann", Intent)
        await forget(journal, [said.seq, intents[0].seq])
        names = {one for one in before if len(one) == 12}
        assert left(tmp_path, {*names, intents[0].event.fingerprint.encode()}) == set()
        assert not journal.pending_entries(EntriesForgotten)


async def test_what_an_older_version_left_of_them_is_cleared_with_the_migration(tmp_path: Path) -> None:
    clock, program = FakeClock(), RecordingProgram()
    async with working(tmp_path, clock, program.body) as (journal, worker):
        await say(journal, SECRET)
        await worker.wait_until_idle()
        hashes = {one for one in hashes_in(tmp_path) if len(one) in (12, 16) and one.isalnum()}
        steps = [*journal.thread_entries("ann", StepEvent)]
        [said] = journal.thread_entries("ann", Said)
    home = tmp_path / "older"
    home.mkdir()
    path = home / "journal.db"
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("vacuum into ?", (str(path),))
    async with Journal(path, clock, [Said, Pressed]) as journal:
        await forget(journal, [said.seq])
    with closing(sqlite3.connect(path)) as db, db:  # steps as the previous version left them
        for step in steps:
            body = journal.kinds.dump(step.event)
            db.execute("update entry set body = ?, key = ? where seq = ?", (body, step.key, step.seq))
    made_older(path)
    assert len(left(home, hashes)) > 5
    async with working(home, clock, program.body) as (journal, worker):
        assert left(home, hashes) == set()
        await wake(clock, worker)
        assert program.ended == [("heard", ["called", "called"])]
