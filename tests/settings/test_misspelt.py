"""Misplaced secrets, never shown in errors; unknown keys, named."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

import config
from config import Settings
from daemon.console.server import bind
from daemon.settings.home import create_home
from daemon.settings.parse import ConfigError
from tests.source import ROOT


@pytest.mark.parametrize(
    "secret",
    [
        "hidden",
        "hidden=1",
        "U1,hidden",
        "calls=hidden",
        "usd=hidden",
        "http://[hidden",
        "~hidden/x",
        "5hidden",
    ],
)
def test_whatever_stands_in_the_wrong_place_no_error_shows_it(secret: str) -> None:
    complaints: list[str] = []
    for one in dataclasses.fields(Settings):
        name = one.name.upper()
        try:
            Settings.from_env({"ANTHROPIC_API_KEY": "x", name: secret})
        except ConfigError as error:
            complaints.append(str(error))
    assert len(complaints) > 10
    named = "MODEL_PRICES does not say what "  # the model must be named
    assert [one for one in complaints if "hidden" in one and not one.startswith(named)] == []


def test_no_folder_or_address_that_cannot_be_used_is_shown(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for use in (lambda: create_home(tmp_path / "file" / "hidden"), lambda: bind("hidden", 0)):
        with pytest.raises(ConfigError) as caught:
            use()
        assert "hidden" not in str(caught.value)


def test_a_key_that_nobody_reads_is_named_with_the_nearest_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(
        "BUDGET_DAYLY_USD=1\nANTHROPIC_APIKEY=sk-ant-hidden\nbudget_daily_usd=2\nPORT=0\nTZ=UTC\nhidden-word=1\n"
    )
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LIMIT_TRUN", "calls=3")
    monkeypatch.setenv("SLACK_TEAM", "is somebody else's")
    monkeypatch.setenv("PORTS", "are, too")
    said = [str(one) for one in config.misspelt()]
    assert said == [
        "BUDGET_DAYLY_USD in .env is read by nobody: is it BUDGET_DAILY_USD?",
        "ANTHROPIC_APIKEY in .env is read by nobody: is it ANTHROPIC_API_KEY?",
        "budget_daily_usd in .env is read by nobody: is it BUDGET_DAILY_USD?",
        "TZ in .env is read by nobody; .env.example lists what is.",
        "A line that is no name in .env is read by nobody; .env.example lists what is.",
        "LIMIT_TRUN in the environment is read by nobody: is it LIMIT_TURN?",
    ]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("OWNER_USER_IDS: U0HIDDEN01", "Line 2 (OWNER_USER_IDS) of .env"),
        ("SLACK_BOT_TOKEN xoxb-hidden", "Line 2 (SLACK_BOT_TOKEN) of .env"),
        ('CLAUDE_MODEL="hidden', "Line 2 (CLAUDE_MODEL) of .env"),
        ("sk-ant-hidden is my key", "Line 2 of .env"),
        ("=hidden", "Line 2 of .env"),
    ],
)
def test_a_line_that_sets_nothing_is_named_without_its_words(
    line: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(f"# sets the port\n{line}\n\nPORT=0\n")
    monkeypatch.chdir(tmp_path)
    [said] = config.unreadable_lines()
    assert said.startswith(f"{named} sets nothing. Write NAME=value")
    assert "hidden" not in said.lower()


def test_a_file_of_settings_and_comments_has_no_line_that_sets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.unreadable_lines() == [], "there is no file"
    (tmp_path / ".env").write_text("# one\n\nexport PORT = '0'  # two\r\nHOST\nCLAUDE_MODEL=\n")
    assert config.unreadable_lines() == []
    (tmp_path / ".env").write_text((ROOT / ".env.example").read_text())
    assert config.unreadable_lines() == []


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").mkdir()  # made by a container for a missing file
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"\.env cannot be read \(it is a folder\)"):
        config.load()


def test_every_setting_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("".join(f"{one.name.upper()}=\n" for one in dataclasses.fields(Settings)))
    assert not [one for one in config.misspelt() if one.place == ".env"]
