"""`trace`: a thread for its owner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.app.journal_commands import DEEPEST, find_thread, list_threads, trace_lines
from daemon.engine.event import Entry, Event
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.kinds import SOUL_KINDS, ConversationOpened, IncomingMessage, SpeechFinished
from tests.app.damages import DAMAGES, damage
from tests.app.forgery import opened
from tests.clock import FakeClock

LINE = re.compile(r" *(\d+)  \d\d-\d\d \d\d:\d\d:\d\d  ( *)(\S+)(?:  .*)?")


@pytest.fixture
def read(talked: Path) -> Iterator[JournalReader]:
    with open_reader(talked, SOUL_KINDS) as journal:
        yield journal


@pytest.fixture
def alice(read: JournalReader) -> Entry[ConversationOpened]:
    return next(one for one in read.entries_of_kind(ConversationOpened) if one.event.channel.startswith("D"))


def test_causes_stand_above_what_they_caused_and_to_its_left(
    read: JournalReader, alice: Entry[ConversationOpened]
) -> None:
    shown = [found for line in trace_lines(read, alice, 300) if (found := LINE.fullmatch(line))]
    every: list[Entry[Event]] = read.thread_entries(alice.thread)
    entries = {entry.seq: entry for entry in every if not isinstance(entry.event, ConversationOpened)}
    assert {int(line[1]) for line in shown} == entries.keys()
    place = {int(line[1]): (n, len(line[2])) for n, line in enumerate(shown)}
    for seq, entry in entries.items():
        if entry.cause in place:
            (above, left), (below, right) = place[entry.cause], place[seq]
            assert above < below
            assert right == min(left + 2, 2 * DEEPEST)


def test_a_call_shows_its_cost_and_what_came_of_it(
    read: JournalReader, alice: Entry[ConversationOpened]
) -> None:
    shown = "\n".join(trace_lines(read, alice, 300))
    assert re.search(
        r"pipeline by claude-sonnet-5-5, ok, \d+ \+ \d+ tokens, \$0\.00\d\d, \d\.\d s: <aside>", shown
    )
    assert "pipeline by claude-sonnet-5-5, failed (rate-limited)" in shown
    assert re.search(rf"^{alice.thread}  .* \d+ entries, 4 calls, \$0\.0\d\d\d$", shown, re.MULTILINE)


def test_one_call_is_one_call(read: JournalReader) -> None:
    firsts = [next(trace_lines(read, one, 300)) for one in read.entries_of_kind(ConversationOpened)]
    assert all(re.search(r"\b(1 call|(?!1 )\d+ calls), \$", first) for first in firsts)
    assert any("1 call, " in first for first in firsts)


def test_nothing_that_a_terminal_would_obey_is_printed(
    read: JournalReader, alice: Entry[ConversationOpened]
) -> None:
    shown = [*trace_lines(read, alice, 300)]
    assert all(line.isprintable() for line in shown)
    assert any("Alice: Hi [31m there, Claudius evil" in line for line in shown)


def test_no_line_is_wider_than_the_terminal(read: JournalReader, alice: Entry[ConversationOpened]) -> None:
    body = [*trace_lines(read, alice, 60)][1:]
    assert max(map(len, body)) == 60


def test_a_thread_is_found_by_its_id_its_beginning_a_link_or_a_place(
    read: JournalReader, alice: Entry[ConversationOpened]
) -> None:
    channel, ts = alice.event.channel, alice.event.ts
    reply = read.thread_entries(alice.thread, IncomingMessage)[1].event.ts
    spoken = read.thread_entries(alice.thread, SpeechFinished)[-1].event.ts
    link = "https://rehearsal.slack.com/archives/" + channel
    for asked in (
        *(alice.thread, alice.thread[:-2], f"{channel}:{ts}", f"{channel}:{reply}", f"{channel}:{spoken}"),
        *(
            f"{link}/p{ts.replace('.', '')}",
            f"{link}/p{spoken.replace('.', '')}?thread_ts={ts}&cid={channel}",
        ),
    ):
        assert find_thread(read, asked) == alice, asked


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("sess", "3 threads begin with sess:"),
        ("C0NOWHERE:1.5", "No thread is C0NOWHERE:1.5."),
        ("\x1b[2J", "No thread is [2J."),
        ("", "No thread is ."),
    ],
)
def test_what_is_not_one_thread_names_those_that_are_there(
    read: JournalReader, asked: str, said: str
) -> None:
    with pytest.raises(LookupError) as unknown:
        find_thread(read, asked)
    first, *rest = str(unknown.value.args[0]).splitlines()
    assert first == said
    assert [line.split()[0] for line in rest] == [
        one.thread for one in read.entries_of_kind(ConversationOpened)
    ]


def test_in_an_empty_journal_it_says_so(journal: Path) -> None:
    with opened(journal) as copy:
        copy.db.execute("delete from entry")
    with open_reader(journal, SOUL_KINDS) as found, pytest.raises(LookupError, match="holds none yet"):
        find_thread(found, "sess-1")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_named_and_left_to_verify(journal: Path, name: str) -> None:
    with opened(journal) as copy:
        seq = damage(copy, name)
    said = rf"The entry {seq} cannot be read \(.*\). `python -m daemon verify` names all that is damaged"
    with open_reader(journal, SOUL_KINDS) as found, pytest.raises(JournalError, match=said):
        [*map(list, (trace_lines(found, one, 200) for one in found.entries_of_kind(ConversationOpened)))]


async def test_people_are_mentioned_by_their_names(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        said = IncomingMessage(address="dm", user="U0ALICE0001", name="Alice", text="Hello.", ts="17.000100")
        began = ConversationOpened(
            team="T1",
            channel="D1",
            ts="17.000100",
            where="dm",
            place="",
            audience="dm",
            user="",
            called_by="",
        )
        await journal.append("sess-00000001", began, key="thread:T1:D1:17.000100")
        await journal.append("sess-00000001", said, key="msg:1")
        spoken = SpeechFinished(ts="18.000100", text="<@U0ALICE0001>, may <@U0NOBODY01> know?")
        await journal.append("sess-00000001", spoken, key="spoken:1")
    with open_reader(tmp_path / "journal.db", SOUL_KINDS) as past:
        shown = "\n".join(trace_lines(past, find_thread(past, "sess-"), 300))
    assert "@Alice, may <@U0NOBODY01> know?" in shown
    assert "U0ALICE0001" not in shown


async def test_a_group_dm_is_called_by_who_spoke_in_it_and_a_private_channel_is_marked(
    tmp_path: Path,
) -> None:
    places = {"G1": ("group", "a group conversation", "group"), "C1": ("channel", "#den", "private")}
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        for number, (channel, (where, place, audience)) in enumerate(places.items()):
            ts, thread = f"17.00010{number}", f"sess-0000000{number}"
            began = ConversationOpened(
                team="T1",
                channel=channel,
                ts=ts,
                where=where,
                place=place,
                audience=audience,
                user="U2",
                called_by=ts,
            )
            await journal.append(thread, began, key=f"thread:T1:{channel}:{ts}")
            for user, name in (("U2", "Bob"), ("U1", "Alice"), ("U2", "Bob")):
                said = IncomingMessage(address="dm", user=user, name=name, text="Hello.", ts=ts)
                await journal.append(thread, said, key=f"msg:{channel}:{len(journal.thread_entries(thread))}")
    with open_reader(tmp_path / "journal.db", SOUL_KINDS) as past:
        listed = [*list_threads(past)]
        first, *_ = trace_lines(past, find_thread(past, "sess-00000000"), 300)
    assert "Group DM with Alice, Bob, since" in listed[0]
    assert "#den (private), since" in listed[1]
    assert "Group DM with Alice, Bob, since" in first
