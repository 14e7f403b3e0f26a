"""The doctor and the daemon's files: damage, versions, permissions."""

from __future__ import annotations

from pathlib import Path

from daemon.app.check import finding_line, ill_finding
from daemon.app.doctor import MOST_VERIFIED, examine_file_modes
from daemon.app.doctor import examine_journal as look_at
from daemon.settings.home import restrict_permissions
from tests.app.forgery import opened, spoil


def test_a_very_long_journal_that_is_damaged_is_ill(journal: Path) -> None:
    with opened(journal) as copy:
        copy.db.execute(
            "update entry set seq = ? where seq = (select max(seq) from entry)", (MOST_VERIFIED + 1,)
        )
    assert look_at(journal).ok
    spoil(journal, "entry_by_kind")
    found = look_at(journal)
    assert not found.ok
    assert found.said.startswith("The journal is damaged (")
    assert found.said.endswith(", without the -wal and -shm of this one, or move it away to begin a new one")


def test_a_journal_of_another_version_is_ill(journal: Path) -> None:
    with opened(journal) as copy:
        copy.db.execute("pragma user_version = 7")
    found = look_at(journal)
    assert not found.ok
    assert "It is of version 7, and this program reads version 4. Run the version that wrote it" in found.said


def test_a_journal_that_cannot_be_looked_at_is_ill(tmp_path: Path) -> None:
    found = look_at(tmp_path / ("long" * 100))  # fails as in a closed folder
    assert not found.ok
    assert "(File name too long): ask as the one who runs the daemon" in found.said


def test_what_others_could_read_is_ill(tmp_path: Path) -> None:
    home, env = tmp_path / "home", tmp_path / ".env"
    home.mkdir(mode=0o755)
    (home / "journal.db").touch(mode=0o640)
    found = examine_file_modes(home, env)
    assert not found.ok
    assert f"{home}, {home}/journal.db. chmod go= {home} {home}/journal.db; or give SOUL_HOME" in found.said
    restrict_permissions(home)
    assert examine_file_modes(home, env).ok
    env.touch(mode=0o644)
    assert examine_file_modes(home, env).said == f"others may look into {env}. chmod go= {env}"


def test_a_finding_with_words_from_outside_is_one_line_that_moves_no_terminal() -> None:
    shown = finding_line(ill_finding("claude", "it said\n✓ claude     all is well\x1b[2J"))
    assert shown == "✗ claude     it said\\n✓ claude     all is well\\x1b[2J"
