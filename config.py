"""The environment, read once into a frozen Settings that names all bad keys at once.

Only daemon/app.py and daemon/__main__.py import it; every room below is handed the values it needs.
`.env.example` lists the same names, a line of meaning each.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from dotenv import dotenv_values

from daemon.errors import ConfigError

T = TypeVar("T")
Mode = Literal["real", "rehearsed"]

DUMMY_KEY = "no-key-needed"
"""Stands in for ANTHROPIC_API_KEY where only a base URL is given: local backends want a key, any key."""
SECRETS = ("xoxb-", "xoxp-", "xoxe", "xapp-", "sk-")
"""How secrets begin; of a value that begins so, an error shows no more than that."""

BOT_TOKEN_HINT = (
    "Copy it from api.slack.com/apps, your app, OAuth & Permissions, Bot User OAuth Token (xoxb-…)."
)
APP_TOKEN_HINT = (
    "Make it at api.slack.com/apps, your app, Basic Information, App-Level Tokens, scope connections:write."
)
KEY_HINT = "Get one at platform.claude.com, Settings, API keys; or point ANTHROPIC_BASE_URL at a local model."
MODEL_HINT = "Write the name of a model, or leave it out."
IDS_HINT = (
    "Write ids, not names, separated by commas; Slack shows them under a profile's or a channel's details."
)


def setting(default: T, read: Callable[[str], T], hint: str = "", *, secret: bool = False) -> T:
    """A field of Settings: its default, how its text is read, and what to do where that fails.

    `read` raises ValueError with the rest of a sentence that begins with the key's name.
    """
    made: T = field(default=default, repr=not secret, metadata={"read": read, "hint": hint})
    return made


def shown(text: str) -> str:
    """A value as an error may show it: of a secret in the wrong place only how it begins."""
    kind = next((kind for kind in SECRETS if text.startswith(kind)), None)
    return repr(text) if kind is None else f"a secret that begins with {kind}"


def name(text: str) -> str:
    """What something is called; never a secret, since it may be shown."""
    if text.startswith(SECRETS):
        raise ValueError(f"is {shown(text)}, not a name")
    return text


def token(kind: str) -> Callable[[str], str]:
    """A reader of Slack tokens of this kind. Its errors never hold the token."""

    def read(text: str) -> str:
        if not text.startswith(kind):
            other = next((f", it begins with {other}" for other in SECRETS if text.startswith(other)), "")
            raise ValueError(f"does not begin with {kind}{other}")
        return text

    return read


def url(text: str) -> str:
    """An http or https URL, as it is."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError(f"is {shown(text)}, not an http:// or https:// URL")
    return text


def model_url(text: str) -> str:
    """The URL of something that speaks Anthropic's Messages API, without the /v1 that the SDK adds."""
    if re.search("/v1(/messages)?/*$", urlsplit(url(text)).path):
        raise ValueError(f"is {shown(text)}, and the SDK adds /v1/messages to it by itself")
    return text


def port(text: str) -> int:
    """A TCP port; 0 means any that is free."""
    if not re.fullmatch("[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError(f"is {shown(text)}, not a port")
    return int(text)


def dollars(text: str) -> float:
    """An amount of money, in US dollars."""
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise ValueError(f"is {shown(text)}, not an amount of dollars")
    return amount


def folder(text: str) -> Path:
    """A folder that exists or can be made."""
    try:
        path = Path(name(text)).expanduser()
    except RuntimeError:
        raise ValueError(f"is {shown(text)}, and there is no such user") from None
    if path.exists() and not path.is_dir():
        raise ValueError(f"is {shown(text)}, which is a file")
    return path


def ids(initials: str) -> Callable[[str], frozenset[str]]:
    """A reader of Slack ids, separated by commas, each beginning with one of these letters."""

    def read(text: str) -> frozenset[str]:
        found = tuple(part for raw in text.split(",") if (part := raw.strip()))
        wrong = [shown(one) for one in found if not re.fullmatch(f"[{initials}][A-Z0-9]+", one)]
        if wrong:
            raise ValueError(f"holds {', '.join(wrong)}, which is not the id that is meant here")
        return frozenset(found)

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the owner set. Names are those of the environment, in lower case; empty means not set."""

    slack_bot_token: str = setting("", token("xoxb-"), BOT_TOKEN_HINT, secret=True)
    slack_app_token: str = setting("", token("xapp-"), APP_TOKEN_HINT, secret=True)
    slack_api_url: str = setting("https://slack.com/api/", url, "Leave it out for Slack itself.")
    anthropic_api_key: str = setting("", str, KEY_HINT, secret=True)
    anthropic_base_url: str = setting("", model_url, "Leave out /v1, or the whole key for Anthropic itself.")
    claude_model: str = setting("claude-sonnet-5-5", name, MODEL_HINT)
    claude_model_fast: str = setting("claude-haiku-5-5", name, MODEL_HINT)
    host: str = setting("127.0.0.1", name, "Write an address of this machine.")
    port: int = setting(8765, port, "Write a number from 0 to 65535; 0 picks a free one.")
    console_token: str = setting("", str, secret=True)
    soul_home: Path = setting(Path("var"), folder, "Name a folder; it is made if it does not exist.")
    owner_user_ids: frozenset[str] = setting(frozenset(), ids("UW"), IDS_HINT)
    allowed_users: frozenset[str] = setting(frozenset(), ids("UW"), IDS_HINT)
    allowed_channels: frozenset[str] = setting(frozenset(), ids("CDG"), IDS_HINT)
    allowed_bots: frozenset[str] = setting(frozenset(), ids("ABUW"), IDS_HINT)
    budget_daily_usd: float = setting(5.0, dollars, "Write a number, 0 or more; at 0 no call is made.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """The settings in these variables; an empty one counts as not set.

        Raises ConfigError with a line for each bad key: what is wrong, and what to do.
        """
        given = {f.name: text for f in fields(cls) if (text := environ.get(f.name.upper(), "").strip())}
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for one in fields(cls):
            if one.name in given:
                try:
                    values[one.name] = one.metadata["read"](given[one.name])
                except ValueError as error:
                    wrong.append(f"{one.name.upper()} {error}. {one.metadata['hint']}")
        wrong.extend(conflicts(given))
        if wrong:
            raise ConfigError("\n".join(wrong))
        if "anthropic_base_url" in values:
            values.setdefault("anthropic_api_key", DUMMY_KEY)
        return cls(**values)

    @property
    def slack(self) -> Mode:
        """Whether the workspace is Slack, or a local one."""
        return "real" if self.slack_bot_token else "rehearsed"

    @property
    def claude(self) -> Mode:
        """Whether the model is Claude (or what stands at the base URL), or a script."""
        return "real" if self.anthropic_api_key else "rehearsed"

    @property
    def journal_path(self) -> Path:
        """The journal; a rehearsed workspace has one of its own."""
        return self.soul_home / ("journal.db" if self.slack == "real" else "rehearsal-journal.db")

    @property
    def rehearsal_path(self) -> Path:
        """What the rehearsed workspace remembers: its channels, people and messages."""
        return self.soul_home / "rehearsal.db"


def conflicts(given: Mapping[str, str]) -> Iterator[str]:
    """What is missing beside what was given, a sentence each."""
    bot, app = "slack_bot_token" in given, "slack_app_token" in given
    if bot and not app:
        yield f"SLACK_APP_TOKEN is missing; SLACK_BOT_TOKEN alone hears nothing. {APP_TOKEN_HINT}"
    if app and not bot:
        yield f"SLACK_BOT_TOKEN is missing; SLACK_APP_TOKEN alone cannot speak. {BOT_TOKEN_HINT}"
    if (bot or app) and not {"anthropic_api_key", "anthropic_base_url"} & given.keys():
        yield f"ANTHROPIC_API_KEY is missing; in a real workspace nobody should talk to a script. {KEY_HINT}"
    if not loopback(given.get("host", "127.0.0.1")) and "console_token" not in given:
        yield (
            f"CONSOLE_TOKEN is missing; with HOST={shown(given['host'])} others can reach the page. "
            "Write a long random word, or set HOST=127.0.0.1."
        )


def loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load() -> Settings:
    """The settings of `.env` in the working folder and of the environment, which wins."""
    try:
        written = dotenv_values(".env")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f".env cannot be read: {error}. Save it as UTF-8 text, or take it away.") from error
    kept = {name: text for name, text in written.items() if text is not None}
    return Settings.from_env(kept | dict(os.environ))
