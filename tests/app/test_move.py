"""A journal that moves into the log and back; commands that bring a copy up to date."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from daemon.app.copy_commands import check_against_log, update_copy
from daemon.app.move_command import move_back, move_to_log
from daemon.cluster.log_server import Connection, connect_to_server
from daemon.cluster.schema import prepare_log, value
from daemon.engine.exceptions import CopyAhead, JournalError, JournalLocked, JournalMisplaced
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import hold_lock
from daemon.engine.journal.log_transfer import FOLD_CLOSED, FOLD_LEASES, FOLD_PENDING
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.verify import verify
from daemon.kinds import SOUL_KINDS, ClaimMade
from tests.app.forgeries import put_words_into_a_mouth
from tests.app.forgery import opened
from tests.app.forked import ForkedCommands, forked_commands
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.engine.test_digests import made_older
from tests.postgres import NEEDS_POSTGRES, log_url, new_log, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCommands]:
    with forked_commands(tmp_path_factory.mktemp("printed")) as commands:
        yield commands


def rows(path: Path) -> list[object]:
    with open_reader(path, SOUL_KINDS) as journal:
        return list(journal.all_rows())


def move(path: Path, url: str, *, tail: bool = False) -> str:
    return "\n".join(move_to_log(path, url, tail=tail))


def connected(url: str) -> closing[Connection]:
    return closing(connect_to_server(url, "test"))


def count(url: str) -> int:
    """Return the number of entries in the log; 0 if there is no log."""
    with connected(url) as connection:
        if value(connection, "select to_regclass('entry') is null"):
            return 0
        return int(value(connection, "select count(*) from entry"))


def lose(url: str, last: int) -> None:
    """Let the log lose all entries after the first `last`, as a failover may."""
    with connected(url) as connection, connection.transaction():
        connection.execute("delete from entry where seq > %s", (last,))
        connection.execute("delete from pending")
        connection.execute("delete from lease")
        for fold in (FOLD_PENDING, FOLD_CLOSED, FOLD_LEASES):
            connection.execute(fold, (0,))


def home(journal: Path, tmp_path: Path) -> Path:
    """Return a home with this journal."""
    folder = tmp_path / "home"
    folder.mkdir()
    shutil.copy(journal, folder / "rehearsal-journal.db")
    return folder


# There and back


def test_a_journal_moves_into_the_log_and_out_of_it_again(
    half: Path, journal: Path, log_url: str, tmp_path: Path
) -> None:
    """Half-done turns and waiting questions are entries like others."""
    for number, place in enumerate((journal, Path(shutil.copy(half, tmp_path / "half.db")))):
        url, before, out = new_log_beside(log_url), rows(place), tmp_path / f"back{number}.db"
        assert f"{len(before)} entries written; all {len(before)} were read back" in move(place, url)
        place.unlink()
        assert "clean" in "\n".join(move_back(place, url, out))
        assert rows(out) == before == rows(place)
        with open_reader(out, SOUL_KINDS) as back:
            assert verify(back).violations == []


def new_log_beside(url: str) -> str:
    return new_log(url.partition("?")[0])


def test_a_journal_of_an_older_version_moves_too(journal: Path, log_url: str) -> None:
    before = rows(journal)
    made_older(journal)
    move(journal, log_url)
    update_copy(journal, log_url)
    assert rows(journal) == before
    with open_reader(journal, SOUL_KINDS) as copy:
        verdict = verify(copy)
    assert (verdict.violations, verdict.undigested) == ([], 0)


async def test_both_ends_are_journals_that_can_be_written(
    journal: Path, log_url: str, tmp_path: Path
) -> None:
    out, last = tmp_path / "back.db", len(rows(journal))
    move(journal, log_url)
    async with SharedJournal(journal, FakeClock(), SOUL_KINDS, url=log_url) as shared:
        entry, _ = await shared.append("t", ClaimMade(by="test"), key="there")
        assert entry.seq == last + 1
    for _ in move_back(journal, log_url, out):
        pass
    async with Journal(out, FakeClock(), SOUL_KINDS) as own:
        entry, _ = await own.append("t", ClaimMade(by="test"), key="back")
        assert entry.seq == last + 2


def test_the_commands_say_what_to_do_next(
    talked: Path, log_url: str, tmp_path: Path, commands: ForkedCommands
) -> None:
    folder = home(talked, tmp_path)
    secret = log_url.replace("soul@", "soul:geheim@")
    env = {"SOUL_HOME": str(folder), "DATABASE_URL": secret}
    status, said, wrong = commands.run("verify", **env)
    assert (status, said) == (78, "")
    assert "was never moved there: the soul would have forgotten everything" in wrong
    assert "`python -m daemon move --to URL`" in wrong
    status, said, wrong = commands.run("move", "--to", **env)
    assert (status, wrong) == (0, "")
    assert "stays, as the copy of this machine" in said
    status, said, wrong = commands.run("verify", SOUL_HOME=str(folder))
    assert (status, said) == (78, "")
    assert "`python -m daemon move --back FILE`" in wrong
    status, more, wrong = commands.run("move", "--back", str(tmp_path / "own.db"), **env)
    assert (status, wrong) == (0, "")
    assert "Take DATABASE_URL out of .env, and put" in more
    assert "geheim" not in said + more


def test_a_url_that_is_none_and_none_at_all_are_wrong_settings(
    tmp_path: Path, commands: ForkedCommands
) -> None:
    status, _, wrong = commands.run("move", "--to", "mysql://soul:geheim@db/soul", SOUL_HOME=str(tmp_path))
    assert status == 78
    assert wrong.startswith("The URL after --to begins with mysql://")
    assert "geheim" not in wrong
    status, _, wrong = commands.run("move", "--to", SOUL_HOME=str(tmp_path))
    assert (status, wrong.split(":")[0]) == (78, "DATABASE_URL is not set")


# Refusals


def test_a_move_needs_the_lock_of_the_file(journal: Path, log_url: str) -> None:
    with hold_lock(journal), pytest.raises(JournalLocked, match="Another daemon"):
        move(journal, log_url)
    assert count(log_url) == 0


def test_a_log_with_other_entries_is_refused(journal: Path, half: Path, log_url: str, tmp_path: Path) -> None:
    move(Path(shutil.copy(half, tmp_path / "other.db")), log_url)
    before = count(log_url)
    for tail in (False, True):
        with pytest.raises(JournalError, match=r"is not empty, and differs from .* from entry"):
            move(journal, log_url, tail=tail)
    assert count(log_url) == before
    with pytest.raises(JournalMisplaced, match="never moved"):
        update_copy(journal, log_url)
    assert len(rows(journal)) > 0


def test_a_journal_that_breaks_a_rule_is_not_moved(journal: Path, log_url: str) -> None:
    with opened(journal) as forged:
        put_words_into_a_mouth(forged)
    with pytest.raises(JournalError, match="breaks rules of the journal, and is not moved"):
        move(journal, log_url)
    assert count(log_url) == 0


def test_no_move_goes_past_daemons_that_are_alive(journal: Path, log_url: str, tmp_path: Path) -> None:
    with connected(log_url) as connection:
        prepare_log(connection)
        worker = value(connection, "select worker_id from procrastinate_register_worker_v1()")
        connection.execute(
            "insert into soul_daemon(worker_id, machine, at_work, working, version, digests, sockets,"
            " clock_offset, address, backend_pid) values(%s, 'one', 'one', true, '', '{}', 0, 0, '', 0)",
            (worker,),
        )
        with pytest.raises(JournalError, match=r"alive \(one\): stop them first"):
            move(journal, log_url)
        with pytest.raises(JournalError, match=r"alive \(one\): stop them first"):
            list(move_back(journal, log_url, tmp_path / "out.db"))
        connection.execute("select procrastinate_unregister_worker_v1(%s)", (worker,))
    move(journal, log_url)


# Kills


WAITING = "select count(*) from pg_locks where not granted and relation = %s::regclass"


@pytest.mark.parametrize("table", ["entry", "pending", "soul_log"])
def test_a_move_that_was_killed_runs_again(
    talked: Path, log_url: str, tmp_path: Path, commands: ForkedCommands, table: str
) -> None:
    """Another session holds a table that the move then waits for: before, in and after the filling."""
    folder = home(talked, tmp_path)
    path = folder / "rehearsal-journal.db"
    with connected(log_url) as connection:
        prepare_log(connection)
        connection.execute("begin")
        connection.execute(f"lock table {table} in share row exclusive mode".encode())
        if table == "soul_log":
            connection.execute("lock table soul_log in access exclusive mode")
        process = commands.start("move", "--to", SOUL_HOME=str(folder), DATABASE_URL=log_url)
        with connected(log_url) as watching:
            until = time.monotonic() + PATIENCE
            while not value(watching, WAITING, table):
                assert time.monotonic() < until
        os.kill(process, signal.SIGKILL)
        assert commands.wait()[0] == -signal.SIGKILL
        connection.execute("rollback")
    assert count(log_url) == 0
    with open_reader(path, SOUL_KINDS) as own:
        assert verify(own).violations == []
    assert "were read back" in move(path, log_url)


def test_a_move_that_was_killed_before_it_marked_its_file_runs_again(
    journal: Path, log_url: str, tmp_path: Path
) -> None:
    unmarked = Path(shutil.copy(journal, tmp_path / "unmarked.db"))
    move(journal, log_url)
    assert f"has all its {len(rows(journal))} entries already" in move(unmarked, log_url)
    with pytest.raises(JournalMisplaced, match="is a copy of a journal in PostgreSQL"):
        open_own(unmarked)


def test_a_daemon_goes_on_after_a_move_that_did_not_mark_its_file(
    journal: Path, log_url: str, tmp_path: Path
) -> None:
    unmarked = Path(shutil.copy(journal, tmp_path / "unmarked.db"))
    move(journal, log_url)
    update_copy(unmarked, log_url)
    with pytest.raises(JournalMisplaced):
        open_own(unmarked)


def open_own(path: Path) -> None:
    async def enter() -> None:
        async with Journal(path, FakeClock(), SOUL_KINDS):
            pass

    asyncio.run(enter())


# A log that lost commits


def test_the_tail_writes_back_what_a_failover_lost(journal: Path, log_url: str) -> None:
    move(journal, log_url)
    before, last = rows(journal), count(log_url)
    lose(log_url, last - 7)
    with pytest.raises(CopyAhead, match=r"The log lacks 7 entries .* move --to URL --tail"):
        update_copy(journal, log_url)
    with pytest.raises(JournalError, match=f"has the first {last - 7} entries"):
        move(journal, log_url)
    assert "7 entries written" in move(journal, log_url, tail=True)
    assert check_against_log(journal, log_url)[1]
    assert rows(journal) == before


def test_the_tail_names_a_machine_whose_copy_has_more(journal: Path, log_url: str, tmp_path: Path) -> None:
    move(journal, log_url)
    less, last = tmp_path / "less.db", count(log_url)
    lose(log_url, last - 3)
    update_copy(less, log_url, "less")
    lose(log_url, last - 7)
    for path, machine in ((journal, "most"), (less, "less")):
        with pytest.raises(CopyAhead):
            update_copy(path, log_url, machine)
    assert "The copy of most has 3 entries more: run `move --to URL --tail` there, too." in move(
        less, log_url, tail=True
    )
    assert "The copy of" not in move(journal, log_url, tail=True)
    assert count(log_url) == last


async def test_the_tail_is_refused_once_anything_else_was_appended(
    journal: Path, log_url: str, tmp_path: Path
) -> None:
    move(journal, log_url)
    last = count(log_url)
    lose(log_url, last - 7)
    other = SharedJournal(tmp_path / "other.db", FakeClock(), SOUL_KINDS, url=log_url)
    async with other as shared:
        await shared.append("t", ClaimMade(by="test"), key="new")
    with pytest.raises(JournalError, match=f"differs from .* from entry {last - 6} on: nothing was written"):
        move(journal, log_url, tail=True)
    assert count(log_url) == last - 6


def test_of_a_database_that_is_gone_the_copy_is_kept_and_fills_a_new_one(journal: Path, log_url: str) -> None:
    move(journal, log_url)
    before, fresh = rows(journal), new_log_beside(log_url)
    with connected(fresh) as connection:
        prepare_log(connection)
    with pytest.raises(CopyAhead, match=f"The log lacks {len(before)} entries"):
        update_copy(journal, fresh)
    with pytest.raises(JournalError, match="is a copy of another log"):
        move(journal, fresh)
    move(journal, fresh, tail=True)
    update_copy(journal, fresh)
    assert rows(journal) == before


# Copies


def test_a_missing_copy_is_made_and_one_of_another_log_made_anew(
    journal: Path, half: Path, log_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    move(journal, log_url)
    other, copy = new_log_beside(log_url), tmp_path / "copy.db"
    move(Path(shutil.copy(half, tmp_path / "other.db")), other)
    update_copy(copy, log_url)
    assert rows(copy) == rows(journal)
    update_copy(copy, other)
    assert rows(copy) == rows(half)
    assert "made anew: it is a copy of another log" in caplog.text


def test_a_damaged_copy_is_made_anew_and_a_file_that_may_be_a_journal_is_kept(
    journal: Path, log_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    move(journal, log_url)
    before, aside = rows(journal), journal.with_name("journal.db.unreadable")
    journal.write_bytes(b"perhaps it was a journal" * 200)
    update_copy(journal, log_url)
    assert rows(journal) == before
    assert f"it is kept as {aside}" in caplog.text
    journal.write_bytes(b"it was a copy, of which the log knows" * 200)
    update_copy(journal, log_url)
    assert rows(journal) == before
    assert aside.read_bytes().startswith(b"perhaps it was a journal")


async def test_beside_a_running_daemon_its_own_copy_is_waited_for(
    journal: Path, log_url: str, tmp_path: Path
) -> None:
    move(journal, log_url)
    copy = tmp_path / "copy.db"
    running = SharedJournal(copy, FakeClock(), SOUL_KINDS, url=log_url, name="a")
    other = SharedJournal(journal, FakeClock(), SOUL_KINDS, url=log_url, name="b")
    async with running as one, other as two:
        with one._copy.folding:  # its follower has to wait
            writes = [two.append("t", ClaimMade(by="test"), key=f"{n}") for n in range(50)]
            await asyncio.gather(*writes)
            updating = asyncio.create_task(asyncio.to_thread(update_copy, copy, log_url))
            assert not (await asyncio.wait({updating}, timeout=0.3))[0]
        await updating
        assert len(rows(copy)) == count(log_url)
        line, equal = await asyncio.to_thread(check_against_log, copy, log_url)
        assert equal, line


def test_commands_make_the_copy_and_verify_compares_it_with_the_log(
    talked: Path, journal: Path, log_url: str, tmp_path: Path, commands: ForkedCommands
) -> None:
    move(journal, log_url)
    env = {"SOUL_HOME": str(tmp_path / "elsewhere"), "DATABASE_URL": log_url}
    status, said, wrong = commands.run("verify", **env)
    assert (status, wrong) == (0, "")
    digest = re.search(r"entries, digest [0-9a-f]{16}: the same as the copy\n$", said)
    assert digest, said
    copy = tmp_path / "elsewhere" / "rehearsal-journal.db"
    assert rows(copy) == rows(talked)
    copy.unlink()
    export, backup = ["export", "-o", str(tmp_path / "out.jsonl")], ["backup", str(tmp_path / "b")]
    for command in (export, ["trace"], backup):
        status, said, wrong = commands.run(*command, **env)
        assert (status, wrong) == (0, "")
        assert rows(copy) == rows(talked)
        delete(copy)
    with open_reader(tmp_path / "b", SOUL_KINDS) as backed_up:
        assert verify(backed_up).violations == []


def delete(copy: Path) -> None:
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()


def test_verify_finds_a_copy_that_differs_from_the_log(
    journal: Path, log_url: str, tmp_path: Path, commands: ForkedCommands
) -> None:
    move(journal, log_url)
    shutil.copy(journal, tmp_path / "rehearsal-journal.db")
    with connected(log_url) as connection:
        connection.execute("update entry set at = at + 1 where seq = 7")
    status, said, _ = commands.run("verify", SOUL_HOME=str(tmp_path), DATABASE_URL=log_url)
    assert status == 1
    assert "differs from the log" in said
    assert "first at 7: stop its daemon, and delete it" in said


def test_a_log_that_is_away_or_was_never_made_is_said(
    log_url: str, tmp_path: Path, commands: ForkedCommands
) -> None:
    with pytest.raises(JournalError, match=r"There is no journal at .* Start the daemon"):
        update_copy(tmp_path / "copy.db", log_url)
    status, said, wrong = commands.run(
        "trace", SOUL_HOME=str(tmp_path), DATABASE_URL="postgresql://soul:geheim@127.0.0.1:1/soul"
    )
    assert (status, said) == (74, "")
    assert "The journal's database postgresql://127.0.0.1:1/soul cannot be reached" in wrong
    assert "geheim" not in wrong


def test_the_copy_of_a_machine_whose_disk_is_gone_is_dropped(
    journal: Path, log_url: str, tmp_path: Path, commands: ForkedCommands
) -> None:
    move(journal, log_url)
    for name in ("gone", "here"):
        update_copy(tmp_path / f"{name}.db", log_url, name)
    env = {"DATABASE_URL": log_url, "SOUL_HOME": str(tmp_path)}
    assert commands.run("drop-copy", "else", **env) == (
        1,
        "",
        "No machine else has a copy; machines with one: gone, here\n",
    )
    status, said, wrong = commands.run("drop-copy", "gone", **env)
    assert (status, said, wrong) == (
        0,
        "Dropped the copy of gone: no forgetting waits for it any more.\n",
        "",
    )
    status, _, wrong = commands.run("drop-copy", "gone", **env)
    assert (status, wrong) == (1, "No machine gone has a copy; machines with one: here\n")
    assert commands.run("drop-copy", "here", SOUL_HOME=str(tmp_path))[0] == 78


def test_two_moves_at_once_move_once(journal: Path, log_url: str, tmp_path: Path) -> None:
    other, ends = Path(shutil.copy(journal, tmp_path / "other.db")), list[str]()

    def one(path: Path) -> None:
        try:
            ends.append(move(path, log_url))
        except JournalError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=one, args=(path,)) for path in (journal, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any("were read back" in end for end in ends)
    assert count(log_url) == len(rows(journal))
