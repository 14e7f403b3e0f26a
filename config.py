"""Settings from the environment, frozen; all bad keys are reported at once.

`.env.example` lists the same names with their meaning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from dotenv import dotenv_values

from daemon.claude.models import BY_ID, ModelTable, is_listed
from daemon.engine.clock import DAY
from daemon.settings.database_url import read_database_url, read_machine_name
from daemon.settings.home import CAPABILITIES, project_root
from daemon.settings.limits import (
    DEFAULT_INNER_LIMITS,
    FREE_PRICE,
    PERSON,
    PROCESS_TIMEOUT,
    READING,
    STREAM,
    THREAD,
    TURN,
    AllowedPrograms,
    InnerLimits,
    Limits,
    ModelPrice,
    ReadingLimits,
    StreamLimits,
)
from daemon.settings.mcp_file import MCP_FILE, variable_names
from daemon.settings.parse import (
    ConfigError,
    UnknownSetting,
    count_reader,
    ids_reader,
    is_loopback,
    limits_reader,
    malformed_lines,
    needs_key,
    one_of_or_class_reader,
    one_of_reader,
    password_reader,
    read_allowed_programs,
    read_chat_url,
    read_dollars,
    read_duration,
    read_file,
    read_folder,
    read_folders,
    read_model_url,
    read_name,
    read_names,
    read_only_true,
    read_port,
    read_prices,
    read_seconds,
    read_secret,
    read_truth,
    read_url,
    read_windows,
    span_reader,
    token_reader,
    unknown_settings,
)

T = TypeVar("T")
Mode = Literal["real", "rehearsed"]

DUMMY_KEY = "no-key-needed"
"""Key for local servers, which require any."""

BOT_TOKEN_HINT = (
    "Copy it from api.slack.com/apps, your app, OAuth & Permissions, Bot User OAuth Token (xoxb-…)."
)
APP_TOKEN_HINT = (
    "Make it at api.slack.com/apps, your app, Basic Information, App-Level Tokens, scope connections:write."
)
KEY_HINT = (
    "Get one at platform.claude.com, Settings, API keys; or point ANTHROPIC_BASE_URL at a local model, or "
    "OPENAI_BASE_URL at a server that speaks chat completions."
)
OPENAI_KEY_HINT = (
    "Take it from the server's own site; any word will do for a server of yours that asks for none."
)
MODEL_HINT = "Write the name of a model, or leave it out."
PRICES_HINT = (
    "Write NAME=INPUT/OUTPUT/CACHED in US dollars for a million tokens, or NAME=free, with commas between."
)
WINDOW_HINT = "Write tokens in digits alone, like 16000; or NAME=TOKENS for each model, with commas between."
IDS_HINT = (
    "Write ids, not names, separated by commas; Slack shows them under a profile's or a channel's details."
)
ENV = ".env"
SAVE_ENV = "Save it as UTF-8 text, or take it away."
SHORT_WORD = re.compile(r"""["']?[A-Za-z0-9]{1,8}["']?""")
"""Wrong value short enough to be no secret."""
PASSWORD_HINT = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'."
SANDBOX_HINT = "Write auto, monty or cpython, or the name of a class of your own as package.module.Class."
READERS_HINT = "Write roles (speak, fast, expert) or names of models, by depth, with commas between."
FORM_HINT = "Write auto, sections or plain; auto is usual."
SERVER_HINT = "Write off, public or all; off is usual."
CAPACITY_HINT = "Write high, medium, low or none."
PROCESS_HINT = (
    "Write name=program argument {slot}, with ; between entries; a program is a full path, or on PATH."
)
DATABASE_HINT = "Write it like postgresql://user:password@host/database, or leave it out for SQLite."
MACHINE_HINT = "Write a name for this machine, or leave it out: the host's is usual."
LIMITS_HINT = "Write it like calls=30 tokens=400000 usd=0.50 time=10m tools=30; usd=none removes a bound."

SHARED_CONNECTIONS = 1
"""Default of SLACK_CONNECTIONS with DATABASE_URL."""

MODELS = {
    "speak": "claude_model",
    "fast": "claude_model_fast",
    "fallback": "claude_model_fallback",
    "expert": "claude_model_expert",
}


def setting(default: T, read: Callable[[str], T], hint: str = "", *, secret: bool = False) -> T:
    """Declare a setting; `read` raises ValueError with the end of a sentence that begins with the key."""
    made: T = field(default=default, repr=not secret, metadata={"read": read, "hint": hint})
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the owner, named as in the environment; empty: not set."""

    slack_bot_token: str = setting("", token_reader("xoxb-"), BOT_TOKEN_HINT, secret=True)
    slack_app_token: str = setting("", token_reader("xapp-"), APP_TOKEN_HINT, secret=True)
    slack_api_url: str = setting("https://slack.com/api/", read_url, "Leave it out for Slack itself.")
    slack_connections: int = setting(2, count_reader(1, 10), "Slack allows one to ten.")
    catch_up_max_age: float = setting(86_400.0, read_duration, "Write it like 30m, 24h or 7d.")
    anthropic_api_key: str = setting("", read_secret, KEY_HINT, secret=True)
    anthropic_base_url: str = setting(
        "", read_model_url, "Leave out /v1, or the whole key for Anthropic itself."
    )
    openai_api_key: str = setting("", read_secret, OPENAI_KEY_HINT, secret=True)
    openai_base_url: str = setting(
        "", read_chat_url, "Write it like http://localhost:8080/v1, or leave it out."
    )
    claude_model: str = setting("claude-sonnet-5-5", read_name, MODEL_HINT)
    claude_model_fast: str = setting("claude-haiku-5-5", read_name, MODEL_HINT)
    claude_model_fallback: str = setting("", read_name, MODEL_HINT)
    claude_model_expert: str = setting("", read_name, MODEL_HINT)
    model_prices: tuple[tuple[str, ModelPrice], ...] = setting((), read_prices, PRICES_HINT)
    model_window: tuple[tuple[str, int], ...] = setting((), read_windows, WINDOW_HINT)
    model_first_token: float = setting(0.0, span_reader(1, DAY), "Write seconds, or like 90s, 10m or 1h.")
    model_stall: float = setting(STREAM.stall, span_reader(1, DAY), "Write seconds, or like 30s or 5m.")
    model_concurrency: int = setting(0, count_reader(1, 200), "One at a time is usual for a local model.")
    model_form: str = setting("auto", one_of_reader("auto", "sections", "plain"), FORM_HINT)
    ism_enabled: bool = setting(False, read_only_true, "Write true or false.")
    ism_max_loops: int = setting(5, count_reader(1, 50), "Five rounds of choosing are usual.")
    iteration_capacity: str = setting("medium", one_of_reader("high", "medium", "low", "none"), CAPACITY_HINT)
    spawn_max_depth: int = setting(3, count_reader(0, 10), "Three branches deep is usual.")
    rlm_sandbox: str = setting("auto", one_of_or_class_reader("auto", "monty", "cpython"), SANDBOX_HINT)
    rlm_models: tuple[str, ...] = setting(("speak", "fast"), read_names, READERS_HINT)
    rlm_max_depth: int = setting(
        READING.depth, count_reader(0, 5), "One level of readings below it is usual."
    )
    rlm_max_iterations: int = setting(READING.iterations, count_reader(1, 100), "Twenty rounds are usual.")
    rlm_max_calls: int = setting(READING.calls, count_reader(1, 100_000), "Five hundred calls are usual.")
    rlm_max_usd: float = setting(READING.usd, read_dollars, "Write a number; 0 takes this bound away.")
    rlm_max_time: float = setting(READING.seconds, read_duration, "Write it like 15m or 1h.")
    rlm_concurrency: int = setting(READING.concurrency, count_reader(1, 200), "Sixteen at once are usual.")
    rlm_threshold_tokens: int = setting(READING.threshold, count_reader(0, 1_000_000), "8000 are usual.")
    inner_life_enabled: bool = setting(False, read_truth, "Write true or false.")
    inner_life_min_pause: float = setting(
        DEFAULT_INNER_LIMITS.pause, read_seconds, "Write seconds, or like 30s, 5m or 1h."
    )
    inner_life_daily_usd: float = setting(
        DEFAULT_INNER_LIMITS.usd, read_dollars, "Write a number; at 0 it makes no call."
    )
    inner_life_daily_messages: int = setting(
        DEFAULT_INNER_LIMITS.messages, count_reader(0, 1_000), "Ten a day are usual."
    )
    inner_life_reads_dms: bool = setting(False, read_truth, "Write true or false.")
    knowledge_dirs: tuple[Path, ...] = setting((), read_folders, "Name folders, with commas between.")
    process_commands: AllowedPrograms = setting(
        AllowedPrograms(), read_allowed_programs, PROCESS_HINT, secret=True
    )
    process_timeout: float = setting(
        PROCESS_TIMEOUT, span_reader(1, 7 * DAY), "Write seconds, or like 30s, 10m or 2h; 600 are usual."
    )
    mcp_config: Path | None = setting(None, read_file, "Name the file of your MCP servers, or leave it out.")
    host: str = setting("127.0.0.1", read_name, "Write an address of this machine.")
    port: int = setting(8765, read_port, "Write a number from 0 to 65535; 0 picks a free one.")
    console_token: str = setting("", password_reader(20), PASSWORD_HINT, secret=True)
    console_url: str = setting("", read_url, "Write the address that opens the page, or leave it out.")
    mcp_server: str = setting("off", one_of_reader("off", "public", "all"), SERVER_HINT)
    mcp_token: str = setting("", password_reader(20), PASSWORD_HINT, secret=True)
    mcp_hourly_calls: int = setting(60, count_reader(0, 100_000), "Sixty an hour are usual.")
    mcp_daily_usd: float = setting(1.0, read_dollars, "Write a number; at 0 no question is answered.")
    log_level: str = setting("info", one_of_reader("debug", "info", "warning", "error"), "info is usual.")
    log_format: str = setting("text", one_of_reader("text", "json"), "Write text or json.")
    soul_home: Path = setting(Path("var"), read_folder, "Name a folder; it is made if it does not exist.")
    database_url: str = setting("", read_database_url, DATABASE_HINT, secret=True)
    machine: str = setting("", read_machine_name, MACHINE_HINT)
    at_work: str = setting("one", one_of_reader("one", "all"), "Write one or all; one is usual.")
    owner_user_ids: frozenset[str] = setting(frozenset(), ids_reader("UW"), IDS_HINT)
    allowed_users: frozenset[str] = setting(frozenset(), ids_reader("UW"), IDS_HINT)
    allowed_channels: frozenset[str] = setting(frozenset(), ids_reader("CDG"), IDS_HINT)
    allowed_bots: frozenset[str] = setting(frozenset(), ids_reader("ABUW"), IDS_HINT)
    mesh_daily: int = setting(20, count_reader(0, 1_000), "Twenty a day are usual; at 0 no bot is answered.")
    budget_daily_usd: float = setting(5.0, read_dollars, "Write a number, 0 or more; at 0 no call is made.")
    limit_turn: Limits = setting(TURN, limits_reader(TURN), LIMITS_HINT)
    limit_thread: Limits = setting(THREAD, limits_reader(THREAD), LIMITS_HINT)
    limit_person: Limits = setting(PERSON, limits_reader(PERSON), LIMITS_HINT)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Parse these variables, empty ones as unset; raise ConfigError with fault and remedy for each bad
        key.
        """
        given: dict[str, str] = {}
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for one in fields(cls):
            text = environ.get(one.name.upper(), "").strip()
            if not text:
                continue
            given[one.name] = text
            try:
                text.encode()
                values[one.name] = one.metadata["read"](text)
            except UnicodeEncodeError:
                wrong.append(f"{one.name.upper()} holds bytes that are no UTF-8. {one.metadata['hint']}")
            except ValueError as error:
                wrong.append(f"{one.name.upper()} {error}. {one.metadata['hint']}")
        wrong.extend(conflicts(given))
        if wrong:
            raise ConfigError("\n".join(wrong))
        for server in ("anthropic", "openai"):
            if f"{server}_base_url" in values:
                values.setdefault(f"{server}_api_key", DUMMY_KEY)
                speaks = values.get("claude_model")
                if speaks and not is_listed(speaks):  # a local server has no Claude model
                    values.setdefault("claude_model_fast", speaks)
        if "database_url" in values:  # several daemons share the sockets that Slack allows
            values.setdefault("slack_connections", SHARED_CONNECTIONS)
        settings = cls(**values)
        if settings.claude == "real":
            settings.check_prices()
        return settings

    def check_prices(self) -> None:
        """Raise ConfigError for a model without price, whose calls no budget could count."""
        unpriced = self.table.unpriced(self.model_names)
        if not unpriced:
            return
        named = ", ".join(f"{name} ({' and '.join(self._naming(name))})" for name in unpriced)
        given = [f"{name}={price}" for name, price in self.model_prices]
        line = ", ".join([*given, *(f"{name}={_likely(name)}" for name in unpriced)])
        raise ConfigError(
            f"MODEL_PRICES does not say what {named} costs, so BUDGET_DAILY_USD could not count it. "
            f"Write into .env, with your prices: MODEL_PRICES={line} "
            "(a price is INPUT/OUTPUT/CACHED in US dollars for a million tokens; free where nobody bills)."
        )

    @property
    def table(self) -> ModelTable:
        return ModelTable(
            prices=dict(self.model_prices),
            windows=dict(self.model_window),
            structured=bool(self.openai_base_url),
        )

    @property
    def model_names(self) -> tuple[str, ...]:
        """Unique names of all configured models."""
        named = [getattr(self, key) for key in MODELS.values()]
        named += [name for name in self.rlm_models if name not in MODELS]
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def named_models(self) -> Mapping[str, Sequence[str]]:
        return {name: self._naming(name) for name in self.model_names}

    def _naming(self, model: str) -> list[str]:
        found = [key.upper() for key in MODELS.values() if getattr(self, key) == model]
        if model in self.rlm_models:
            found.append("RLM_MODELS")
        return found

    @property
    def reading(self) -> ReadingLimits:
        return ReadingLimits(
            depth=self.rlm_max_depth,
            iterations=self.rlm_max_iterations,
            calls=self.rlm_max_calls,
            usd=self.rlm_max_usd,
            seconds=self.rlm_max_time,
            concurrency=self.rlm_concurrency,
            threshold=self.rlm_threshold_tokens,
        )

    @property
    def stream(self) -> StreamLimits:
        return StreamLimits(first_event=self.model_first_token or None, stall=self.model_stall)

    @property
    def inner(self) -> InnerLimits | None:
        """Limits of the inner life; None if disabled."""
        if not self.inner_life_enabled:
            return None
        return InnerLimits(
            pause=self.inner_life_min_pause,
            usd=self.inner_life_daily_usd,
            messages=self.inner_life_daily_messages,
            reads_dms=self.inner_life_reads_dms,
        )

    @property
    def slack(self) -> Mode:
        return "real" if self.slack_bot_token else "rehearsed"

    @property
    def claude(self) -> Mode:
        return "real" if self.anthropic_api_key or self.openai_base_url else "rehearsed"

    @property
    def machine_name(self) -> str:
        """Name of this daemon: MACHINE, or else the host's."""
        return self.machine or os.uname().nodename

    @property
    def model_url(self) -> str:
        """Server in place of Anthropic's, or empty."""
        return self.openai_base_url or self.anthropic_base_url

    def page(self, here: str) -> str:
        """Return the page's address for Slack links; empty if unknown. `here` works only for a rehearsed
        workspace.
        """
        url = self.console_url
        if not url and self.slack == "rehearsed":
            url = here
        return url.rstrip("/")

    @property
    def journal_path(self) -> Path:
        """Journal, separate for a rehearsed workspace."""
        return self._in_home("journal.db")

    @property
    def capabilities_path(self) -> Path:
        return self.soul_home / CAPABILITIES

    @property
    def processes_path(self) -> Path:
        """Folder of programs, separate for a rehearsed workspace."""
        return self._in_home("processes")

    @property
    def address_path(self) -> Path:
        """File of the daemon's address, separate for a rehearsed workspace."""
        return self._in_home("console-address")

    def _in_home(self, name: str) -> Path:
        if self.slack == "rehearsed":
            name = f"rehearsal-{name}"
        return self.soul_home / name

    @property
    def rehearsal_path(self) -> Path:
        return self.soul_home / "rehearsal.db"


def _likely(name: str) -> ModelPrice:
    """Return a probable price, by the name without the gateway's prefix."""
    known = BY_ID.get(name.rpartition("/")[2])
    if known is None:
        return FREE_PRICE
    return known.price


def conflicts(given: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each missing or conflicting setting."""
    bot, app = "slack_bot_token" in given, "slack_app_token" in given
    if bot and not app:
        yield f"SLACK_APP_TOKEN is missing; SLACK_BOT_TOKEN alone hears nothing. {APP_TOKEN_HINT}"
    if app and not bot:
        yield f"SLACK_BOT_TOKEN is missing; SLACK_APP_TOKEN alone cannot speak. {BOT_TOKEN_HINT}"
    if {"anthropic_base_url", "openai_base_url"} <= given.keys():
        yield (
            "ANTHROPIC_BASE_URL and OPENAI_BASE_URL are both set, and models are asked at one server. Leave "
            "out the one that is not meant."
        )
    if needs_key(given.get("openai_base_url", "")) and "openai_api_key" not in given:
        yield f"OPENAI_API_KEY is missing; OPENAI_BASE_URL leads to another machine. {OPENAI_KEY_HINT}"
    if (bot or app) and not {"anthropic_api_key", "anthropic_base_url", "openai_base_url"} & given.keys():
        yield f"ANTHROPIC_API_KEY is missing; in a real workspace nobody should talk to a script. {KEY_HINT}"
    if "mcp_token" in given and given["mcp_token"] == given.get("console_token"):
        yield f"MCP_TOKEN is the CONSOLE_TOKEN, too, and would open the page to MCP clients. {PASSWORD_HINT}"
    if not is_loopback(given.get("host", "127.0.0.1")) and "console_token" not in given:
        yield (
            "CONSOLE_TOKEN is missing; with a HOST that is not this machine alone others can reach the page. "
            f"{PASSWORD_HINT} Or set HOST=127.0.0.1."
        )


OWN_KEYS = frozenset(one.name.upper() for one in fields(Settings) if not one.repr)
"""Names of the settings that are secret, which no MCP server gets."""


def load() -> Settings:
    """Load `.env` in the working folder and the environment, which wins."""
    return Settings.from_env(variables())


def is_set(name: str) -> bool:
    return bool(variables().get(name, "").strip())


def taken_for_false() -> list[str]:
    """Return a sentence if ISM_ENABLED is invalid and counts as false."""
    word = variables().get("ISM_ENABLED", "").strip()
    if word.lower() in ("", "true", "false"):
        return []
    found = f"{len(word)} characters"
    if SHORT_WORD.fullmatch(word):  # longer words may be secrets
        found = word
    return [
        f"ISM_ENABLED is neither true nor false ({found}), and counts as false: the soul does not choose by"
        " itself. Write ISM_ENABLED=true, or false."
    ]


def unreadable_lines() -> list[str]:
    """Return a sentence for each invalid line of `.env`."""
    names = {one.name.upper() for one in fields(Settings)}
    env = Path(ENV)
    if not env.is_file():
        return []
    return [*malformed_lines(env.read_text(encoding="utf-8"), names)]


def misspelt() -> list[UnknownSetting]:
    """Return keys of `.env`, and similar ones of the environment, that are no setting."""
    known = {one.name.upper() for one in fields(Settings)}
    used = variable_names(_mcp_path())
    return [one for one in unknown_settings(_written(), os.environ, known) if one.name not in used]


def _mcp_path() -> Path:
    named = variables().get("MCP_CONFIG", "").strip()
    with suppress(ValueError):  # reported with the settings
        if named:
            return read_file(named)
    return project_root() / MCP_FILE


def variables() -> Mapping[str, str]:
    """Return the variables of `.env` and of the environment, which wins. Raises ConfigError."""
    kept = {name: text for name, text in _written().items() if text is not None}
    return kept | dict(os.environ)


def _written() -> Mapping[str, str | None]:
    if Path(ENV).is_dir():
        raise ConfigError(f"{ENV} cannot be read (it is a folder). {SAVE_ENV}")
    try:
        return dotenv_values(ENV)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{ENV} cannot be read ({reason}). {SAVE_ENV}") from error
