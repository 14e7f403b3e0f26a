"""The first turn after a start, which reads only its own conversation."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.ground import ground, message
from benchmarks.lived import lived
from benchmarks.roots import Counting
from daemon.kinds import ConversationOpened, thread_key
from daemon.turn.history import DmHistories
from daemon.turn.usage_limits import DailyBudget

TS = "1999999999.000100"


async def read_for_first_turn(folder: Path, entries: int, where: str, channel: str) -> int:
    await lived(folder, entries)
    async with ground(folder, kept_by=Counting) as soul:
        journal = soul.world.journal
        assert isinstance(journal, Counting)
        place = ConversationOpened(
            team="T",
            channel=channel,
            ts=TS,
            where=where,
            place="#new",
            audience="dm" if where == "dm" else "public",
            user="UNEW",
            called_by=TS,
        )
        opened, _ = await journal.open_thread(thread_key("T", channel, TS), place)
        await journal.append(opened.thread, message("hello", TS), key=f"msg:T:{channel}:{TS}", author="U1")
        journal.taken = 0
        assert await soul.turns().take_turn(opened.thread)
        return journal.taken


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def test_a_first_turn_reads_no_more_entries_in_a_journal_that_is_four_times_as_long(
    tmp_path: Path,
) -> None:
    for where, channel in (("dm", "DNEW"), ("channel", "CNEW")):
        few = await read_for_first_turn(made(tmp_path / f"short-{where}"), 1_000, where, channel)
        many = await read_for_first_turn(made(tmp_path / f"long-{where}"), 4_500, where, channel)
        assert many <= 1.5 * few, f"{where}: {few} entries, then {many}"


async def test_what_was_spent_today_is_the_same_read_beside_the_loop_and_as_it_comes(tmp_path: Path) -> None:
    await lived(tmp_path, 3_000)
    async with ground(tmp_path) as soul:
        world = soul.world
        beside, at_once = (DailyBudget(world.journal, world.clock, 5.0, ("U1",)) for _ in range(2))
        await beside.preload()
        assert beside.today() == at_once.today()
        assert beside.today().people
        thread = await soul.open("more")
        await soul.say(thread, "hello", TS)
        assert await soul.turns().take_turn(thread)
        assert (
            beside.today() == at_once.today() == DailyBudget(world.journal, world.clock, 5.0, ("U1",)).today()
        )


class ReadApart(DmHistories):
    """DM histories read in the background, despite a short journal."""

    far_behind = -1


async def test_a_dm_is_the_same_read_beside_the_loop_at_once_and_as_it_comes(tmp_path: Path) -> None:
    async with ground(tmp_path) as soul:
        world = soul.world
        as_it_comes, thread = DmHistories(world.journal), ""
        for number in range(6):
            ts = f"{1_900_000_000 + number}.000100"
            place = ConversationOpened(
                team="T",
                channel="D1" if number % 3 else "D2",
                ts=ts,
                where="dm",
                place="a direct message",
                audience="dm",
                user="U1",
                called_by=ts,
            )
            key = thread_key("T", place.channel, ts)
            opened, _ = await world.journal.open_thread(key, place)
            thread = opened.thread
            await as_it_comes.preload(thread)
            await world.journal.append(thread, message(f"hello {number}", ts), key=f"msg:{ts}", author="U1")
            assert await soul.turns().take_turn(thread)
        apart, at_once = ReadApart(world.journal), DmHistories(world.journal)
        await apart.preload(thread)
        now = world.journal.last_seq_of_all() + 1
        for dms in (apart, at_once, as_it_comes):
            told = " ".join(memory.content for memory in dms.initial_context(thread, now))
            assert re.findall(r"hello \d", told) == [f"hello {n}" for n in (1, 2, 4, 5)]
            assert dms.mood(thread, now) == as_it_comes.mood(thread, now)
            assert len(dms.to_summarize(thread, now)) == len(as_it_comes.to_summarize(thread, now)) > 0
