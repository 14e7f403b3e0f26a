"""The journal alone: lock, writer, ids, order and questions."""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from daemon.engine.event import Entry, Event, Input
from daemon.engine.exceptions import FencedError, JournalError, JournalLocked
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import Fence, JournalWriter, PendingAppend, Result
from daemon.engine.kinds import (
    AnswerAwaited,
    QuestionWithdrawn,
    ThreadOpened,
    TurnBegan,
    TurnEnded,
    TurnResumed,
)
from tests.attention import PATIENCE, until
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    kind = "noted"
    n: int = 0
    what: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedTwice(Noted):
    kind = "noted-twice"


KINDS = (Noted, NotedTwice, Said, Pressed)
BEGAN = TurnBegan(execution="t@1", inputs=())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def journal(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", clock, KINDS) as journal:
        yield journal


def keys(entries: Sequence[Entry[Any]]) -> list[str]:
    return [entry.key for entry in entries]


async def note(journal: Journal, key: str, thread: str = "t", event: Event | None = None) -> int:
    entry, _ = await journal.append(thread, event or Noted(), key=key)
    return entry.seq


async def test_a_key_is_there_once_and_gives_the_first_entry(journal: Journal) -> None:
    first, new = await journal.append("t", Noted(n=1), key="k")
    again, second = await journal.append("t", Noted(n=2), key="k")
    assert (new, second) == (True, False)
    assert again == first


async def test_what_is_pending_is_so_until_it_is_closed(journal: Journal) -> None:
    said, _ = await journal.append("t", Said(text="hello"), key="p")
    assert journal.pending_entries(Said, thread="t") == [said]
    assert journal.is_pending(said.seq)
    await journal.append("t", TurnEnded(outcome="completed"), key="e", closes=[said.seq])
    assert journal.pending_entries(Said) == []


async def test_what_is_moot_is_closed_once_whoever_comes_first(journal: Journal) -> None:
    asked = [await journal.append("t", AnswerAwaited(), key=f"asked:{n}") for n in range(2)]
    first, second = (entry.seq for entry, _ in asked)
    await journal.append("t", QuestionWithdrawn(), key="first", closes=[first])
    last, _ = await journal.append("t", QuestionWithdrawn(), key="both", moot=[first, second])
    assert last.closes == (second,)
    assert not journal.pending_entries(AnswerAwaited)


async def test_a_later_attempt_fences_the_former(journal: Journal) -> None:
    first, _ = await journal.append("t", BEGAN, key="one")
    fence = Fence(thread="t", epoch=first.seq)
    await journal.append("t", Noted(), key="a", fence=fence)
    second, _ = await journal.append("t", TurnResumed(attempt=2), key="two")
    assert not journal.holds_lease("t", first.seq)
    assert journal.latest_attempts(since=first.seq) == [("t", second.seq)]
    with pytest.raises(FencedError):
        await journal.append("t", Noted(), key="b", fence=fence)
    assert journal.get("b") is None


async def test_an_entry_that_was_closed_meanwhile_fences_who_requires_it(journal: Journal) -> None:
    began, _ = await journal.append("t", BEGAN, key="one")
    await journal.append("t", TurnEnded(outcome="completed"), key="two", closes=[began.seq])
    with pytest.raises(FencedError):
        await journal.append("t", TurnResumed(attempt=2), key="three", requires=began.seq)


@pytest.mark.parametrize(
    "what", [float("nan"), object(), {"at": [float("inf")]}], ids=["nan", "object", "inf"]
)
async def test_an_event_that_is_no_json_fails_alone_and_in_the_caller(journal: Journal, what: object) -> None:
    good = asyncio.gather(*(journal.append("t", Noted(), key=f"k{n}") for n in range(20)))
    with pytest.raises((TypeError, ValueError)):
        await journal.append("t", Noted(what=what), key="bad")
    assert len(await good) == 20


async def test_an_event_that_could_not_be_read_again_is_not_written(journal: Journal) -> None:
    wrong: Any = "many"
    with pytest.raises(ValueError, match="its n"):
        await journal.append("t", Noted(n=wrong), key="bad")


async def test_an_append_gives_what_every_reader_will_be_given(journal: Journal) -> None:
    entry, _ = await journal.append("t", Noted(what=("a", {"b": (1,)})), key="k")
    assert entry.event.what == ["a", {"b": [1]}]
    assert journal.get("k") == entry


async def test_half_a_character_becomes_a_mark(journal: Journal) -> None:
    entry, _ = await journal.append("t", Said(text="Oh \ud83d! \ud83d\ude00\x00"), key="k")
    assert entry.event.text == "Oh \ufffd! \U0001f600\ufffd"
    assert journal.get("k") == entry


async def test_a_row_that_the_database_refuses_fails_alone(journal: Journal) -> None:
    too_large = 2**70
    appends = [journal.append("t", Noted(), key=f"k{n}", cause=too_large * (n == 5)) for n in range(10)]
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert [isinstance(result, JournalError) for result in results] == [n == 5 for n in range(10)]


class MortalWriter(JournalWriter):
    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        if any(append.row.key == "fatal" for append in batch):
            raise LookupError("a fault in the writer itself")
        return super().commit(batch)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_writer_that_dies_says_so_to_everyone(tmp_path: Path, clock: FakeClock) -> None:
    async with Journal(tmp_path / "journal.db", clock, KINDS, MortalWriter) as journal:
        await note(journal, "fine")
        with pytest.raises(JournalError, match="died"):
            await note(journal, "fatal")
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(JournalError):
                await journal.died
            with pytest.raises(JournalError, match="died"):
                await note(journal, "late")
        assert not journal.is_writable


async def test_appends_are_committed_in_the_order_in_which_they_came(journal: Journal) -> None:
    seqs = await asyncio.gather(*(note(journal, f"k{n}") for n in range(600)))
    assert seqs == sorted(seqs)


async def test_what_is_refused_is_no_sign_that_the_disk_takes_anything_again(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    await note(journal, "before")
    journal._writer.failing = True
    await note(journal, "before")
    assert not journal.is_writable
    await note(journal, "after")
    assert journal.is_writable
    assert caplog.text.count("can be written again") == 1


async def test_two_threads_never_share_an_id(journal: Journal) -> None:
    key = "thread:T:C:1.0"
    digits = hashlib.sha256(key.encode()).hexdigest()
    await journal.append(f"sess-{digits[:8]}", ThreadOpened(), key="thread:T:C:another")
    opened, _ = await journal.open_thread(key, ThreadOpened())
    assert opened.thread == f"sess-{digits[:9]}"
    assert (await journal.open_thread(key, ThreadOpened()))[0] == opened


class Held(JournalWriter):
    may = threading.Event()
    sizes: ClassVar[list[int]] = []

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        self._loop.call_soon_threadsafe(Held.sizes.append, len(batch))
        Held.may.wait(PATIENCE)
        return super().commit(batch)


async def test_a_thread_and_what_is_said_first_there_go_to_disk_together(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), KINDS, Held) as journal:
        busy = asyncio.create_task(note(journal, "busy"))
        await until(lambda: Held.sizes)
        opening = asyncio.create_task(
            journal.open_with("thread:T:C:1", ThreadOpened(), Said(text="a"), first_key="a", author="U")
        )
        await asyncio.sleep(0)
        Held.may.set()
        await busy
        opened, said = await opening
        assert Held.sizes == [1, 2]
        assert [*journal.all_entries()][1:] == [opened, said]
        assert (said.thread, said.cause, said.author) == (opened.thread, opened.seq, "U")


async def test_what_is_said_first_comes_to_its_own_thread(journal: Journal) -> None:
    key = "thread:T:C:1.0"
    digits = hashlib.sha256(key.encode()).hexdigest()
    await journal.append(f"sess-{digits[:8]}", ThreadOpened(), key="thread:T:C:another")
    tellings = [
        journal.open_with(key, ThreadOpened(), Said(text=text), first_key=text, author="U") for text in "abb"
    ]
    (opened, *others), said = zip(*await asyncio.gather(*tellings), strict=True)
    assert others == [opened, opened]
    assert opened.thread == f"sess-{digits[:9]}"
    assert {(entry.thread, entry.cause) for entry in said} == {(opened.thread, opened.seq)}
    assert sorted(entry.event.text for entry in journal.thread_entries(opened.thread, Said)) == ["a", "b"]
    there, late = await journal.open_with(key, ThreadOpened(), Said(text="c"), first_key="c", author="U")
    assert (there, late.thread, late.cause) == (opened, opened.thread, opened.seq)


async def test_followers_see_every_entry_once_and_in_order(journal: Journal) -> None:
    async def follow() -> list[int]:
        seen: list[int] = []
        async for entries in journal.follow_entries(0, limit=7):
            seen += [entry.seq for entry in entries]
            if len(seen) == 50:
                break
        return seen

    following = asyncio.create_task(follow())
    await asyncio.gather(*(note(journal, f"k{n}") for n in range(50)))
    async with asyncio.timeout(PATIENCE):
        assert await following == list(range(1, 51))


async def test_a_base_class_means_all_kinds_that_derive_from_it(journal: Journal) -> None:
    await note(journal, "a")
    await note(journal, "b", event=NotedTwice())
    said, _ = await journal.append("t", Said(text="hello"), key="c")
    pressed, _ = await journal.append("t", Pressed(text="yes"), key="d")
    assert [entry.key for entry in journal.thread_entries("t", Noted)] == ["a", "b"]
    assert [entry.key for entry in journal.thread_entries("t", NotedTwice)] == ["b"]
    assert keys(journal.thread_entries("t")) == ["a", "b", "c", "d"]
    assert [entry.key for entry in journal.entries_of_kind(Noted, Said)] == ["a", "b", "c"]
    assert journal.pending_entries(Input) == journal.pending_inputs("t") == [said, pressed]
    latest = journal.latest_of_kind("t", Noted)
    assert latest is not None
    assert latest.key == "b"
    latest = journal.latest_of_kind("t", Noted, before=latest.seq)
    assert latest is not None
    assert latest.key == "a"
    assert journal.latest_of_kind("t", ThreadOpened) is None


async def test_a_tree_is_a_thread_and_all_below_it(journal: Journal) -> None:
    for key, thread in enumerate(["a", "a.one", "ab", "a.one.deep", "a/", "a"]):
        await note(journal, f"{key}", thread, event=Said(text="") if key == 5 else None)
    assert keys(journal.tree_entries("a")) == ["0", "1", "3", "5"]
    assert [entry.key for entry in journal.tree_entries("a", Noted)] == ["0", "1", "3"]
    assert [entry.key for entry in journal.tree_entries("a", Noted, since=1)] == ["1", "3"]


async def test_entries_of_a_kind_are_found_by_seq_and_by_time(journal: Journal, clock: FakeClock) -> None:
    first = await note(journal, "a")
    await clock.advance(60)
    now = clock.now()
    await note(journal, "b")
    assert [entry.key for entry in journal.entries_of_kind(Noted, since=first)] == ["b"]
    assert [entry.key for entry in journal.entries_of_kind(Noted, at=now)] == ["b"]
    assert journal.entries_of_kind(Noted, at=now + 1) == []


async def test_threads_in_which_something_was_said_lately(journal: Journal, clock: FakeClock) -> None:
    for name in ("early", "late"):
        await journal.append(name, ThreadOpened(), key=name)
        await journal.append(name, Said(text=name), key=f"{name}/said")
        await clock.advance(60)
    since = clock.now() - 60
    found = await journal.read_in_background(
        lambda reading: [*reading.recently_active(ThreadOpened, [Said], since)]
    )
    assert [(entry.thread, last) for entry, last in found] == [("late", since)]


async def test_threads_wait_in_the_order_in_which_their_first_came(journal: Journal) -> None:
    for n, thread in enumerate(["b", "a", "b"]):
        await journal.append(thread, Said(text="hello"), key=f"{n}")
    assert journal.threads_with_pending(Said) == ["b", "a"]
    assert journal.threads_with_pending(Noted) == []


async def test_the_first_entry_after_one_that_is_not_of_the_future(
    journal: Journal, clock: FakeClock
) -> None:
    right = clock.now()
    clock.set_ahead(86_400.0)
    first, second = await note(journal, "a"), await note(journal, "b")
    assert journal.first_time_after(first, right) is None
    assert journal.first_time_after(first, clock.now()) == clock.now()
    clock.set_ahead(0)
    await note(journal, "c")
    assert journal.first_time_after(first, right) == right
    assert journal.first_time_after(second, right) == right
    assert journal.first_time_after(second, right - 1) is None


def hold(path: Path, out: multiprocessing.Queue[str]) -> None:
    async def opened() -> str:
        try:
            async with Journal(path, FakeClock(), KINDS):
                return "opened"
        except JournalLocked as held:
            return str(held)

    out.put(asyncio.run(opened()))


async def test_a_second_process_is_refused_before_it_connects(tmp_path: Path, journal: Journal) -> None:
    context = multiprocessing.get_context("spawn")
    said: multiprocessing.Queue[str] = context.Queue()
    path = tmp_path / "journal.db"
    before = path.stat().st_mtime_ns
    other = context.Process(target=hold, args=(path, said))
    other.start()
    answer = await asyncio.to_thread(said.get, True, 20)
    other.join()
    assert "Another daemon" in answer
    assert "a journal of its own" in answer
    assert path.stat().st_mtime_ns == before


@dataclass(frozen=True, slots=True, kw_only=True)
class Nameless(Event): ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unranked(Input):
    """Input that is an answer, but ranks as a message."""

    kind = "unranked"
    answers: str


@pytest.mark.parametrize(
    ("wrong", "says"),
    [(Nameless, "Nameless has no kind: give it"), (Unranked, "Unranked has `answers` .* InputRank.ANSWER")],
)
def test_a_class_that_cannot_be_a_kind_is_refused_where_it_is_handed_over(
    tmp_path: Path, wrong: type[Event], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        Journal(tmp_path / "other.db", FakeClock(), [wrong])


async def test_an_event_that_cannot_be_written_says_what_to_do(journal: Journal) -> None:
    with pytest.raises(ValueError, match=r"Unranked .* is not known: hand its class to Journal"):
        await journal.append("t", Unranked(answers=""), key="unknown")
    wrong: Any = "many"
    with pytest.raises(ValueError, match=r"^Noted, its n: Input should be a valid integer$"):
        await journal.append("t", Noted(n=wrong), key="bad")


async def test_all_that_is_pending_is_told_where_no_kind_is_named(journal: Journal) -> None:
    said, _ = await journal.append("t", Said(text="hello"), key="said")
    await journal.append("t", Noted(), key="noted")
    assert journal.pending_entries() == journal.pending_entries(thread="t") == [said]
