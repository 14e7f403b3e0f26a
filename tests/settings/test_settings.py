"""Settings in .env or the environment, and their errors."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

import config
from config import Settings
from daemon.claude.models import cost_of
from daemon.settings.limits import FREE_PRICE, TURN, Limits, TokenUsage
from daemon.settings.parse import ConfigError

SLACK = {"SLACK_BOT_TOKEN": "xoxb-1-2-three", "SLACK_APP_TOKEN": "xapp-1-2-three"}
KEY = {"ANTHROPIC_API_KEY": "sk-ant-four"}


def complaints(environ: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        Settings.from_env(environ)
    return str(caught.value).splitlines()


def test_with_nothing_set_everything_is_rehearsed() -> None:
    settings = Settings.from_env({})
    assert settings == Settings()
    assert (settings.slack, settings.claude) == ("rehearsed", "rehearsed")
    assert settings.journal_path == Path("var/rehearsal-journal.db")
    assert settings.rehearsal_path == Path("var/rehearsal.db")


@pytest.mark.parametrize("claude", [KEY, {"ANTHROPIC_BASE_URL": "http://localhost:11434"}])
def test_with_a_model_only_the_workspace_is_rehearsed(claude: dict[str, str]) -> None:
    settings = Settings.from_env(claude)
    assert (settings.slack, settings.claude) == ("rehearsed", "real")


def test_with_slack_tokens_nothing_is_rehearsed() -> None:
    settings = Settings.from_env(SLACK | KEY | {"SOUL_HOME": "elsewhere"})
    assert (settings.slack, settings.claude) == ("real", "real")
    assert settings.journal_path == Path("elsewhere/journal.db")


def test_a_base_url_alone_gets_a_dummy_key_and_a_key_is_kept() -> None:
    local = {"ANTHROPIC_BASE_URL": "http://localhost:11434"}
    assert Settings.from_env(local).anthropic_api_key == config.DUMMY_KEY
    assert Settings.from_env(local | KEY).anthropic_api_key == "sk-ant-four"


CHAT = {"OPENAI_BASE_URL": "http://localhost:8080/v1"}


def test_a_server_of_chat_completions_is_asked_in_place_of_claude_and_needs_no_key_on_this_machine() -> None:
    settings = Settings.from_env(CHAT | SLACK)
    assert (settings.slack, settings.claude) == ("real", "real")
    assert (settings.openai_api_key, settings.anthropic_api_key) == (config.DUMMY_KEY, "")
    assert settings.model_url == "http://localhost:8080/v1"
    assert Settings.from_env(CHAT | {"OPENAI_API_KEY": "sk-four"}).openai_api_key == "sk-four"


@pytest.mark.parametrize(
    "url", ["http://192.168.1.9:8080", "http://ollama:11434/v1", "https://localhost:8443/v1"]
)
def test_a_server_of_ones_own_needs_no_key(url: str) -> None:
    assert Settings.from_env({"OPENAI_BASE_URL": url}).openai_api_key == config.DUMMY_KEY


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://openrouter.ai/api/v1/"])
def test_a_server_elsewhere_needs_a_key(url: str) -> None:
    [said] = complaints({"OPENAI_BASE_URL": url})
    assert said.startswith("OPENAI_API_KEY is missing; OPENAI_BASE_URL leads to another machine. Take it")
    assert Settings.from_env({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "any"}).claude == "real"


def test_a_key_alone_asks_nobody() -> None:
    assert Settings.from_env({"OPENAI_API_KEY": "sk-four"}).claude == "rehearsed"
    assert Settings.from_env(KEY | {"OPENAI_API_KEY": "sk-four"}).model_url == ""


def test_both_base_urls_are_one_too_many() -> None:
    [said] = complaints(CHAT | {"ANTHROPIC_BASE_URL": "http://localhost:11434"})
    assert said.startswith("ANTHROPIC_BASE_URL and OPENAI_BASE_URL are both set")
    assert "Leave out the one" in said
    assert Settings.from_env(CHAT | {"ANTHROPIC_BASE_URL": " "}), "an empty one counts as not set"


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1beta/openai/"])
def test_the_address_of_chat_completions_is_taken_as_people_write_it(ending: str) -> None:
    settings = Settings.from_env({"OPENAI_BASE_URL": f"http://localhost:8080{ending}"})
    assert settings.model_url.startswith("http://localhost:8080")


def test_every_value_arrives_as_what_it_is() -> None:
    settings = Settings.from_env(
        {
            "HOST": "0.0.0.0",
            "CONSOLE_TOKEN": "a long word that nobody guesses",
            "PORT": "0",
            "BUDGET_DAILY_USD": "0.50",
            "OWNER_USER_IDS": "U0ALICE0001, W0BOB",
            "ALLOWED_CHANNELS": "C1,,G2,",
            "ALLOWED_BOTS": " ",
            "SOMETHING_ELSE": "is not ours",
        }
    )
    assert settings == Settings(
        host="0.0.0.0",
        console_token="a long word that nobody guesses",
        port=0,
        budget_daily_usd=0.5,
        owner_user_ids=frozenset({"U0ALICE0001", "W0BOB"}),
        allowed_channels=frozenset({"C1", "G2"}),
    )


@pytest.mark.parametrize(("text", "meant"), [("true", True), ("Yes", True), ("1", True), ("FALSE", False)])
def test_yes_and_no_are_written_in_many_ways(text: str, meant: bool) -> None:
    assert Settings.from_env({"INNER_LIFE_ENABLED": text}).inner_life_enabled is meant


WORDS = ["true", "TRUE", "True", " tRuE ", "true\n"]
OTHERS = [
    "yes",
    "1",
    "on",
    "y",
    "t",
    "maybe",
    "tru",
    "truee",
    "true!",
    '"true"',
    "'TRUE'",
    "true false",
    "\uff54\uff52\uff55\uff45",
]


@pytest.mark.parametrize("text", [*WORDS, *OTHERS, "false", "FALSE", "no", "0", "", "  "])
def test_the_ism_is_on_for_the_word_true_alone(text: str) -> None:
    assert Settings.from_env({"ISM_ENABLED": text}).ism_enabled is (text in WORDS)


@pytest.mark.parametrize("text", OTHERS)
def test_a_word_that_turns_the_ism_off_by_mistake_is_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISM_ENABLED", text)
    [said] = config.taken_for_false()
    assert said.startswith("ISM_ENABLED is neither true nor false (")
    assert "counts as false: the soul does not choose by itself" in said
    assert said.endswith("Write ISM_ENABLED=true, or false.")


@pytest.mark.parametrize(
    ("text", "found"), [("yes", "(yes)"), ('"true"', '("true")'), ("xoxb-1-2-3", "(10 characters)")]
)
def test_of_that_word_no_more_is_shown_than_a_short_word(
    text: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISM_ENABLED", text)
    assert found in config.taken_for_false()[0]


@pytest.mark.parametrize("text", [*WORDS, "false", "FALSE", "False ", "", "  "])
def test_true_false_and_nothing_are_not_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISM_ENABLED", text)
    assert config.taken_for_false() == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1", 1.0), ("90", 90.0), ("30s", 30.0), ("10m", 600.0), ("2h", 7_200.0), ("7d", 604_800.0)],
)
def test_the_time_of_a_program_is_seconds_or_a_span(text: str, seconds: float) -> None:
    assert Settings.from_env({"PROCESS_TIMEOUT": text}).process_timeout == seconds
    assert Settings().process_timeout == 600.0


@pytest.mark.parametrize(
    "text", ["0", "0s", "8d", "604801", "-5", "1.5", "ten", "10 m", "inf", "99999999999"]
)
def test_a_time_that_no_program_can_have_is_named(text: str) -> None:
    [line] = complaints({"PROCESS_TIMEOUT": text})
    assert line.startswith("PROCESS_TIMEOUT is not ")
    assert line.endswith("Write seconds, or like 30s, 10m or 2h; 600 are usual.")


@pytest.mark.parametrize("key", ["SOUL_HOME", "CLAUDE_MODEL", "HOST", "SLACK_BOT_TOKEN", "KNOWLEDGE_DIRS"])
def test_bytes_that_are_no_text_are_named_and_begin_nothing(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} holds bytes that are no UTF-8"):
        Settings.from_env({key: os.fsdecode(b"/tmp/caf\xe9")})


def test_what_a_limit_leaves_out_stays_as_usual_and_none_takes_a_bound_away() -> None:
    assert Settings.from_env({"LIMIT_TURN": "usd=0.50 time=10m"}).limit_turn == dataclasses.replace(
        TURN, usd=0.5, seconds=600.0
    )
    assert Settings.from_env({"LIMIT_PERSON": "calls=7 usd=none"}).limit_person == Limits(calls=7)
    assert Settings.from_env({"LIMIT_TURN": "None"}).limit_turn == Limits()


def test_folders_to_look_things_up_in_are_there_and_each_is_named_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two: notes"
    one.mkdir()
    two.mkdir()
    settings = Settings.from_env({"KNOWLEDGE_DIRS": f"{one}, {two},{one},"})
    assert settings.knowledge_dirs == (one, two)


def test_programs_are_written_as_in_a_shell_with_semicolons_between() -> None:
    text = """disk=/bin/df -h {place}; say = sh -c 'echo "$1"; date' sh {text};find=find . -exec rm {} \\;;"""
    found = Settings.from_env({"PROCESS_COMMANDS": text}).process_commands
    assert {name: recipe.argv for name, recipe in found.items()} == {
        "disk": ("/bin/df", "-h", "{place}"),
        "say": ("sh", "-c", 'echo "$1"; date', "sh", "{text}"),
        "find": ("find", ".", "-exec", "rm", "{}", ";"),
    }
    assert [recipe.slots for recipe in found.values()] == [("place",), ("text",), ()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hidden", "holds an entry that is not name=program (it has 6 characters) (number 1 of 1). Write"),
        ("a=b; Hidden=c", "holds an entry that has no name of small letters, digits and hyphens"),
        ("a='hidden", "holds a quotation mark that is not closed"),
        ("a=hidden\\", "or ends with a backslash"),
        ("a=;b=c", "names no program after its = (number 1 of 2)"),
        ("a={hidden} x", "has a slot where its program should stand"),
        ("a=./hidden", "names its program by a path that does not begin with /"),
        ("a=b;a=hidden", "has a name that was there before (number 2 of 2)"),
        ("a=ls --color={hidden}", "has a slot within an argument"),
        ("a=sh -c {hidden}", "has a slot that its program may run as code or as a command"),
        ("a=env -i /bin/bash -ec {hidden}", "has a slot that its program may run as code or as a command"),
    ],
)
def test_what_is_wrong_with_a_program_is_said_without_it(text: str, said: str) -> None:
    [line] = complaints({"PROCESS_COMMANDS": text})
    assert line.startswith("PROCESS_COMMANDS ")
    assert said in line
    assert "idden" not in line


def test_all_bad_keys_are_named_at_once() -> None:
    said = complaints(
        {
            "SLACK_BOT_TOKEN": "xapp-swapped",
            "SLACK_APP_TOKEN": "nonsense",
            "SLACK_API_URL": "slack.com/api",
            "ANTHROPIC_BASE_URL": "http://localhost:8000/v1/",
            "PORT": "65536",
            "SOUL_HOME": __file__,
            "OWNER_USER_IDS": "@alice",
            "ALLOWED_USERS": "U1,bob",
            "ALLOWED_CHANNELS": "#general",
            "ALLOWED_BOTS": "C1",
            "BUDGET_DAILY_USD": "five",
            "HOST": "0.0.0.0",
        }
    )
    assert [line.split()[0] for line in said] == [
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "SLACK_API_URL",
        "ANTHROPIC_BASE_URL",
        "PORT",
        "SOUL_HOME",
        "OWNER_USER_IDS",
        "ALLOWED_USERS",
        "ALLOWED_CHANNELS",
        "ALLOWED_BOTS",
        "BUDGET_DAILY_USD",
        "CONSOLE_TOKEN",
    ]


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"PORT": "80a"}, "PORT is not a port (it has 3 characters). Write a number from 0 to 65535"),
        ({"PORT": "9" * 5000}, "not a port"),
        ({"PORT": "-1"}, "PORT is not a port"),
        ({"PORT": "٣"}, "PORT is not a port (it has 1 characters)"),
        ({"BUDGET_DAILY_USD": "-1"}, "BUDGET_DAILY_USD is not an amount"),
        ({"BUDGET_DAILY_USD": "nan"}, "BUDGET_DAILY_USD is not an amount"),
        ({"BUDGET_DAILY_USD": "inf"}, "BUDGET_DAILY_USD is not an amount"),
        (
            {"SLACK_API_URL": "ftp://slack.com"},
            "SLACK_API_URL is not an http:// or https://",
        ),
        ({"SLACK_API_URL": "http://[::1"}, "SLACK_API_URL is not an http"),
        ({"SLACK_API_URL": "http://host:port"}, "SLACK_API_URL is not an http"),
        ({"SLACK_API_URL": "https://me:secret@x/api/"}, "SLACK_API_URL holds a user or a password"),
        ({"ANTHROPIC_BASE_URL": "https://x/v1/messages"}, "the SDK adds /v1/messages to it by itself"),
        ({"ANTHROPIC_BASE_URL": "https://x/v1"}, "the SDK adds /v1/messages to it by itself. Leave out /v1"),
        ({"OPENAI_BASE_URL": "localhost:8080"}, "OPENAI_BASE_URL is not an http:// or https://"),
        ({"OPENAI_BASE_URL": "http://me:word@x/v1"}, "OPENAI_BASE_URL holds a user or a password"),
        (
            {"ANTHROPIC_BASE_URL": "localhost"},
            "ANTHROPIC_BASE_URL is not an http:// or https://",
        ),
        (
            {"SOUL_HOME": "~nobody-of-that-name/x"},
            "SOUL_HOME begins with ~, and there is no such user",
        ),
        (
            {"HOST": "192.0.2.1"},
            "CONSOLE_TOKEN is missing; with a HOST that is not",
        ),
        ({"HOST": "example.org"}, "CONSOLE_TOKEN is missing"),
        ({"HOST": "0.0.0.0", "CONSOLE_TOKEN": "x"}, "is shorter than 20 characters, so that others could"),
        ({"CONSOLE_TOKEN": "nineteen-characters"}, "python3 -c 'import secrets; print(secrets.token_urlsafe"),
        (
            {"INNER_LIFE_ENABLED": "maybe"},
            "INNER_LIFE_ENABLED is not true or false (it has 5",
        ),
        ({"ISM_MAX_LOOPS": "0"}, "ISM_MAX_LOOPS is not a number from 1 to 50"),
        (
            {"KNOWLEDGE_DIRS": "no-such-folder"},
            "KNOWLEDGE_DIRS names a folder that does not exist",
        ),
        ({"KNOWLEDGE_DIRS": __file__}, "names a file, not a folder. Name folders"),
        ({"KNOWLEDGE_DIRS": "x" * 300}, "names what cannot be looked at (File name too long)"),
        (
            {"LIMIT_TURN": "30"},
            "LIMIT_TURN holds a part that is not calls=…, tokens=…, usd=…, time=… or tools=…. Write",
        ),
        ({"LIMIT_TURN": "calls=many"}, "LIMIT_TURN sets calls, which is not a number from 1 to"),
        (
            {"LIMIT_THREAD": "time=10"},
            "LIMIT_THREAD sets time, which is not a number with a unit of time",
        ),
        ({"CATCH_UP_MAX_AGE": "99999999d"}, "CATCH_UP_MAX_AGE is longer than a hundred years"),
        ({"LIMIT_PERSON": "usd=0"}, "LIMIT_PERSON sets usd to nothing at all. Write it like"),
        (
            SLACK,
            "ANTHROPIC_API_KEY is missing; in a real workspace nobody should talk to a script. Get one at",
        ),
        (
            KEY | {"SLACK_BOT_TOKEN": "xoxb-1"},
            "SLACK_APP_TOKEN is missing; SLACK_BOT_TOKEN alone hears nothing",
        ),
        (
            KEY | {"SLACK_APP_TOKEN": "xapp-1"},
            "SLACK_BOT_TOKEN is missing; SLACK_APP_TOKEN alone cannot speak",
        ),
    ],
)
def test_a_complaint_says_what_is_wrong_and_what_to_do(environ: dict[str, str], said: str) -> None:
    [line] = complaints(environ)
    assert said in line


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_this_machine_alone_the_page_needs_no_token(host: str) -> None:
    assert Settings.from_env({"HOST": host}).console_token == ""


def test_a_secret_is_never_shown() -> None:
    settings = Settings.from_env(SLACK | KEY | {"CONSOLE_TOKEN": "console-word-that-is-long"})
    for secret in (*SLACK.values(), *KEY.values(), "console-word-that-is-long"):
        assert secret not in repr(settings)


def test_a_secret_in_the_wrong_place_is_never_shown_either() -> None:
    names = (one.name.upper() for one in dataclasses.fields(Settings))
    for name in names:
        for secret in ("xoxb-hidden", "xapp-hidden", "sk-ant-hidden"):
            try:
                said = repr(Settings.from_env({"ANTHROPIC_API_KEY": "x", name: secret}))
            except ConfigError as error:
                said = str(error)
            assert "hidden" not in said, (name, said)


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(
        'PORT=1111\nCLAUDE_MODEL="from the file"\nHOST\nANTHROPIC_API_KEY=sk-ant-file\n'
    )
    monkeypatch.chdir(tmp_path)
    for one in dataclasses.fields(Settings):
        monkeypatch.delenv(one.name.upper(), raising=False)
    monkeypatch.setenv("PORT", "2222")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert config.load() == Settings(port=2222, claude_model="from the file")


def test_a_file_that_cannot_be_read_is_a_complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_bytes(b"PORT=\xff\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ConfigError, match=r"\.env cannot be read \(it is not UTF-8\)\. Save it as UTF-8 text"
    ):
        config.load()


@pytest.mark.parametrize(
    ("key", "begin"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-1"),
        ("SLACK_APP_TOKEN", "xapp-1"),
        ("ANTHROPIC_API_KEY", "sk-ant-1"),
        ("OPENAI_API_KEY", "sk-1"),
        ("CONSOLE_TOKEN", "a long word that nobody guesses"),
    ],
)
def test_a_secret_in_two_lines_is_named_at_once(key: str, begin: str) -> None:
    [line] = complaints({**SLACK, **KEY, key: f"{begin}\nsecond"})
    assert line.startswith(f"{key} holds a line break")
    assert "second" not in line


LOCAL = KEY | {"CLAUDE_MODEL": "qwen3:8b", "CLAUDE_MODEL_FAST": "qwen3:8b"}


@pytest.mark.parametrize(
    ("environ", "fast"),
    [
        ({"CLAUDE_MODEL": "qwen3:8b", "MODEL_PRICES": "qwen3:8b=free"}, "qwen3:8b"),
        ({"CLAUDE_MODEL": "qwen3:8b", "CLAUDE_MODEL_FAST": "b", "MODEL_PRICES": "qwen3:8b=free,b=free"}, "b"),
        ({"CLAUDE_MODEL": "claude-opus-5-5"}, "claude-haiku-5-5"),
        ({}, "claude-haiku-5-5"),
    ],
)
def test_before_a_base_url_a_model_without_a_listed_price_also_checks_unless_another_is_set(
    environ: dict[str, str], fast: str
) -> None:
    there = {"ANTHROPIC_BASE_URL": "http://localhost:11434"}
    assert Settings.from_env(there | environ).claude_model_fast == fast


def test_without_a_base_url_a_model_without_a_listed_price_leaves_the_fast_one_as_it_is() -> None:
    given = KEY | {"CLAUDE_MODEL": "claude-new-6", "MODEL_PRICES": "claude-new-6=1/5/0.1"}
    assert Settings.from_env(given).claude_model_fast == "claude-haiku-5-5"


@pytest.mark.parametrize("key", ["CLAUDE_MODEL", "CLAUDE_MODEL_FAST", "CLAUDE_MODEL_FALLBACK", "RLM_MODELS"])
def test_a_model_without_a_price_ends_the_start_with_the_line_to_write(key: str) -> None:
    [said] = complaints(KEY | {key: "hf.co/unsloth/Qwen3:Q4"})
    assert f"hf.co/unsloth/Qwen3:Q4 ({key})" in said
    line = said.partition("MODEL_PRICES=")[2].partition(" (a price")[0]
    assert line == "hf.co/unsloth/Qwen3:Q4=free"
    assert Settings.from_env(KEY | {key: "hf.co/unsloth/Qwen3:Q4", "MODEL_PRICES": line})


def test_a_model_of_chat_completions_needs_a_price_as_any_other() -> None:
    [said] = complaints(CHAT | {"CLAUDE_MODEL": "gpt-9"})
    assert "does not say what gpt-9 (CLAUDE_MODEL and CLAUDE_MODEL_FAST) costs" in said
    assert Settings.from_env(CHAT | {"CLAUDE_MODEL": "gpt-9", "MODEL_PRICES": "gpt-9=1/8/0.1"})


def test_the_line_to_write_holds_what_was_written_and_the_list_price_behind_a_gateway() -> None:
    named = {
        "CLAUDE_MODEL": "anthropic/claude-sonnet-5-5",
        "CLAUDE_MODEL_FAST": "gpt-9.1",
        "CLAUDE_MODEL_EXPERT": "big",
        "MODEL_PRICES": "gpt-9.1=1/2.5/0.1",
    }
    [said] = complaints(KEY | named)
    line = said.partition("MODEL_PRICES=")[2].partition(" (a price")[0]
    assert line == "gpt-9.1=1/2.5/0.1, anthropic/claude-sonnet-5-5=2/10/0.1, big=free"
    assert Settings.from_env(KEY | named | {"MODEL_PRICES": line}).table.model("big").price == FREE_PRICE


@pytest.mark.parametrize(
    "environ",
    [
        {"CLAUDE_MODEL": "qwen3:8b"},
        KEY,
        KEY | {"ANTHROPIC_BASE_URL": "http://localhost:4000"},
        KEY | {"CLAUDE_MODEL": "claude-opus-5-5", "RLM_MODELS": "speak,claude-haiku-5-5"},
        LOCAL | {"MODEL_PRICES": "qwen3:8b=free"},
    ],
    ids=["rehearsed", "listed", "listed behind a gateway", "listed by name", "written"],
)
def test_where_all_prices_are_known_or_nobody_bills_nothing_is_asked_for(environ: dict[str, str]) -> None:
    assert Settings.from_env(environ)


def test_prices_and_windows_of_the_owner_take_precedence_over_the_list() -> None:
    table = Settings.from_env(
        LOCAL
        | {
            "MODEL_PRICES": " qwen3:8b = FREE , claude-haiku-5-5=1/5/0.5,a/b:c.d=3/6",
            "MODEL_WINDOW": "16000, a/b:c.d = 32768",
        }
    ).table
    assert cost_of(table.model("qwen3:8b"), TokenUsage(input=1_000_000, output=1_000_000)) == 0
    million = TokenUsage(input=1_000_000, cache_read=1_000_000, output=1_000_000)
    assert cost_of(table.model("claude-haiku-5-5"), million) == 6.5
    assert cost_of(table.model("a/b:c.d"), million) == 12
    windows = [table.model(name).window for name in ("qwen3:8b", "a/b:c.d", "claude-haiku-5-5")]
    assert windows == [16_000, 32_768, 1_000_000]


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        ("MODEL_PRICES", "qwen3:8b", "no name of a model before its ="),
        ("MODEL_PRICES", "=free", "no name of a model before its ="),
        ("MODEL_PRICES", "a=1", "neither free nor INPUT/OUTPUT/CACHED"),
        ("MODEL_PRICES", "a=1/2/3/4", "neither free nor INPUT/OUTPUT/CACHED"),
        ("MODEL_PRICES", "a=1/-2/3", "is not an amount of dollars"),
        ("MODEL_PRICES", "a=nan/1/1", "is not an amount of dollars"),
        ("MODEL_PRICES", "a=free, a=1/2/3", "stands for the same as another one (number 2 of 2)"),
        ("MODEL_PRICES", ",", "holds nothing"),
        ("MODEL_WINDOW", "16,000", "is not a number from 4000"),
        ("MODEL_WINDOW", "many", "is not a number from 4000"),
        ("MODEL_WINDOW", "a=16k", "is not a number from 4000"),
        ("MODEL_WINDOW", "16000, 32000", "stands for the same as another one"),
        ("MODEL_WINDOW", "=16000", "no name of a model before its ="),
    ],
)
def test_what_is_no_price_or_window_is_said_without_its_value(key: str, text: str, fault: str) -> None:
    [said] = complaints({key: text})
    assert said.startswith(f"{key} ")
    assert fault in said
    assert "Write " in said


def test_a_daemon_of_several_opens_one_socket_unless_more_are_wanted() -> None:
    log = {"DATABASE_URL": "postgresql://soul:secret@db/soul"}
    assert Settings.from_env({}).slack_connections == 2
    assert Settings.from_env(log).slack_connections == 1
    assert Settings.from_env({**log, "SLACK_CONNECTIONS": "3"}).slack_connections == 3
