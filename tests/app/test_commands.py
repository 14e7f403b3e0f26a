"""`verify`, `trace`, `export` and `backup`, without keys, Slack or Claude."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.app.journal_commands import backup_journal, write_atomically
from daemon.engine.exceptions import JournalError
from daemon.settings.home import project_root
from tests.app.forgeries import (
    Forge,
    delete_an_answer,
    double_a_receipt,
    open_what_was_closed,
    put_words_into_a_mouth,
)
from tests.app.forgery import opened
from tests.engine.test_digests import made_older
from tests.soak import SOAK, later

CHILD = """
import sys
from daemon.__main__ import main
status = main()
loaded = {name.split(".")[0] for name in sys.modules}
sys.exit("too much is loaded" if loaded & {"anthropic", "slack_sdk", "slack_bolt", "aiohttp"} else status)
"""


def run(*command: str, **env: str) -> tuple[int, str, str]:
    """Run a command; return its exit status, stdout and stderr."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *command],
        cwd=project_root(),
        env={**inherited, "SOUL_HOME": "nowhere", "PYTHONWARNINGS": "error", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_verify_needs_no_keys_and_says_what_is_pending_apart(half: Path, tmp_path: Path) -> None:
    shutil.copy(half, tmp_path / "rehearsal-journal.db")
    status, said, wrong = run("verify", SOUL_HOME=str(tmp_path))
    assert (status, wrong) == (0, "")
    assert said.endswith(" entries, clean; pending: 2 message to be answered, 1 turn-began half\n")


@pytest.mark.parametrize(
    ("rule", "forge"),
    [
        ("gone", delete_an_answer),
        ("altered", put_words_into_a_mouth),
        ("pending", open_what_was_closed),
        ("doubled", double_a_receipt),
    ],
    ids=["gone", "altered", "pending", "doubled"],
)
def test_verify_gives_each_violation_a_line_with_its_seq(journal: Path, rule: str, forge: Forge) -> None:
    with opened(journal) as copy:
        seq = forge(copy)
    status, said, wrong = run("verify", "--journal", str(journal))
    *lines, summary = said.splitlines()
    assert (status, wrong) == (1, "")
    assert [line for line in lines if line.startswith(f"{seq} {rule}: ")], said
    assert summary.startswith(f"{journal}: ")
    counted = "1 violation" if len(lines) == 1 else f"{len(lines)} violations"
    assert summary.partition("; ")[0].endswith(f" {counted}")


def test_what_is_no_journal_is_a_plain_sentence_and_exit_74(tmp_path: Path) -> None:
    status, said, wrong = run("verify", "--journal", str(tmp_path / "none.db"))
    assert (status, said) == (74, "")
    assert wrong.startswith("There is no journal at")


@SOAK
def test_export_gives_every_entry_as_a_line_of_json(talked: Path) -> None:
    status, said, _ = run("export", "--journal", str(talked))
    lines = [json.loads(line) for line in said.splitlines()]
    assert status == 0
    assert [line["seq"] for line in lines] == [*range(1, len(lines) + 1)]
    assert lines[0].keys() == {"seq", "thread", "kind", "author", "body", "key", "cause", "closes", "at"}


def test_export_makes_a_file_that_nobody_else_can_read(talked: Path, tmp_path: Path) -> None:
    out = tmp_path / "journal.jsonl"
    assert run("export", "--journal", str(talked), "--out", str(out)) == (0, "", "")
    assert out.read_text() == run("export", "--journal", str(talked))[1]
    assert oct(out.stat().st_mode) == "0o100600"
    status, _, wrong = run("export", "--journal", str(talked), "-o", str(talked))
    assert (status, wrong.count("\n")) == (74, 1)
    assert wrong.startswith(f"{talked} exists already.")
    status, _, wrong = run("export", "--journal", str(talked), "-o", str(tmp_path / "nowhere" / "out"))
    assert (status, "cannot be written (No such file or directory)" in wrong) == (74, True)


def test_an_export_that_ends_in_the_middle_leaves_nothing(journal: Path, tmp_path: Path) -> None:
    with opened(journal) as copy:
        copy.change(copy.seqs("turn-ended")[-1], body="{")
    status, _, wrong = run("export", "--journal", str(journal), "-o", str(tmp_path / "half"))
    assert (status, wrong.count("\n")) == (74, 1)
    assert not [*tmp_path.glob("half*")]


def test_trace_prints_a_thread_in_a_terminal_that_knows_ascii_only(talked: Path) -> None:
    status, said, wrong = run("trace", "D0ALICE0001:1790000000.000000", "--journal", str(talked), LC_ALL="C")
    assert (status, wrong) == (0, "")
    assert "Hello, Alice." in said


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_check_marks_what_is_well_and_what_is_not_in_a_terminal_without_the_marks(
    tmp_path: Path, encoding: str
) -> None:
    for folder in ("prompts", "playbooks"):
        shutil.copytree(project_root() / folder, tmp_path / folder)
    (tmp_path / "soul.md").write_text("A soul.", encoding="utf-8")
    (tmp_path / "playbooks" / "bad.md").write_text("", encoding="utf-8")
    status, said, wrong = run("check", str(tmp_path), PYTHONIOENCODING=encoding)
    assert (status, wrong) == (1, "")
    assert {line.split()[0] for line in said.splitlines()} == {"X", "ok"}
    assert not {"✓", "✗", "?"} & {*said}


def test_version_is_printed_without_keys_and_nothing_is_started() -> None:
    status, said, wrong = run("--version")
    assert (status, wrong) == (0, "")
    assert re.fullmatch(r"soul daemon 0\.1\.0( \([0-9a-f]{12}\))?\n", said)


@SOAK
def test_trace_names_the_latest_threads_to_who_asks_for_another(talked: Path) -> None:
    status, said, wrong = run("trace", "sess-nobody", "--journal", str(talked))
    assert (status, said) == (1, "")
    assert wrong.startswith("No thread is sess-nobody.\nsess-")


@SOAK
@pytest.mark.parametrize("shown", [1, later(None)], ids=["one", "each"])
def test_trace_alone_lists_the_threads_and_full_cuts_no_line(talked: Path, shown: int | None) -> None:
    status, said, wrong = run("trace", "--journal", str(talked))
    assert (status, wrong) == (0, "")
    threads = [line.split()[0] for line in said.splitlines()]
    assert len(threads) == len({*threads}) >= 3
    for thread in threads[:shown]:
        narrow = run("trace", thread, "--journal", str(talked), COLUMNS="60")[1]
        assert max(map(len, narrow.splitlines()[1:])) <= 60
    full = run("trace", threads[0], "--full", "--journal", str(talked), COLUMNS="60")[1]
    assert "…" not in full
    assert max(map(len, full.splitlines())) > 60


@SOAK
@pytest.mark.parametrize("command", [("trace",), *map(later, [("export",), ("actions",), ("settings",)])])
def test_a_reader_who_goes_away_is_no_traceback(talked: Path, command: tuple[str, ...]) -> None:
    named = ["--journal", str(talked)] if command in (("trace",), ("export",)) else []
    words = shlex.join([sys.executable, "-m", "daemon", *command, *named])
    done = subprocess.run(
        ["sh", "-c", f"{words} | true"], cwd=project_root(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_backup_is_checked_private_and_never_takes_the_place_of_anything(
    talked: Path, tmp_path: Path
) -> None:
    out = tmp_path / "copy.db"
    status, said, wrong = run("backup", str(out), "--journal", str(talked))
    assert (status, wrong) == (0, "")
    assert said.startswith(f"{out}: ")
    assert "clean" in said
    assert oct(out.stat().st_mode) == "0o100600"
    assert run("export", "--journal", str(out)) == run("export", "--journal", str(talked))
    status, _, wrong = run("backup", str(out), "--journal", str(talked))
    assert (status, wrong.startswith(f"{out} exists already.")) == (74, True)


def test_what_a_kill_leaves_of_a_file_has_another_name(talked: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    with write_atomically(out) as part:
        part.write_text("half")
        assert not out.exists()
        with pytest.raises(JournalError, match=r"copy\.part exists already\."):
            backup_journal(talked, out)
    assert (out.read_text(), part.exists()) == ("half", False)
    with pytest.raises(JournalError, match=r"^\. exists already\."):
        backup_journal(talked, Path())


def test_what_has_got_the_name_meanwhile_stays(tmp_path: Path) -> None:
    out = tmp_path / "copy"
    writing = write_atomically(out)
    writing.__enter__().write_text("ours")
    out.write_text("theirs")
    with pytest.raises(JournalError, match=r"copy exists already\."):
        writing.__exit__(None, None, None)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]


@SOAK
def test_a_backup_of_what_is_no_journal_leaves_nothing(tmp_path: Path) -> None:
    status, _, wrong = run("backup", str(tmp_path / "x"), "--journal", str(tmp_path / "none.db"))
    assert (status, wrong.startswith("There is no journal at")) == (74, True)
    assert not [*tmp_path.glob("x*")]


def test_a_backup_that_breaks_a_rule_is_not_kept(journal: Path, tmp_path: Path) -> None:
    with opened(journal) as forged:
        delete_an_answer(forged)
    status, _, wrong = run("backup", str(tmp_path / "y"), "--journal", str(journal))
    assert (status, wrong.startswith("The copy breaks rules of the journal")) == (74, True)
    assert not [*tmp_path.glob("y*")]


def test_a_backup_of_an_altered_journal_is_not_kept_and_a_restored_one_is_told(
    journal: Path, tmp_path: Path
) -> None:
    out = tmp_path / "y"
    assert run("backup", str(out), "--journal", str(journal))[0] == 0
    for path in (journal, out):
        with opened(path) as forged:
            seq = put_words_into_a_mouth(forged)
    status, _, wrong = run("backup", str(tmp_path / "z"), "--journal", str(journal))
    assert (status, f"the journal itself may: {seq} altered: " in wrong) == (74, True)
    assert not [*tmp_path.glob("z*")]
    status, said, _ = run("verify", "--journal", str(out))
    assert (status, said.startswith(f"{seq} altered: ")) == (1, True)


def test_an_older_journal_is_told_to_have_no_digests_and_is_copied_so(journal: Path, tmp_path: Path) -> None:
    made_older(journal)
    out = tmp_path / "y"
    status, said, wrong = run("verify", "--journal", str(journal))
    assert (status, wrong) == (0, "")
    assert "without a digest: the daemon's next start adds it); pending: nothing" in said
    status, told, wrong = run("backup", str(out), "--journal", str(journal))
    assert (status, wrong, told) == (0, "", said.replace(str(journal), str(out)))
    assert run("export", "--journal", str(out)) == run("export", "--journal", str(journal))
    assert run("trace", "--journal", str(out))[0] == 0


@SOAK
def test_who_presses_ctrl_c_sees_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "actions").mkdir()
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # background jobs ignore SIGINT
    pressed = f"import signal\n{heard}\nsignal.raise_signal(signal.SIGINT)\n"
    (tmp_path / "actions" / "pressed.py").write_text(pressed)
    assert run("check", str(tmp_path)) == (130, "", "")


@SOAK
def test_each_command_that_has_a_journal_names_it_in_the_same_words() -> None:
    said = {name: run(name, "--help")[1] for name in ("read", "trace", "verify", "export", "backup")}
    assert all("--journal PATH" in text for text in said.values())
    assert all("its file, if it is not the usual one" in " ".join(text.split()) for text in said.values())
