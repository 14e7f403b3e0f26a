"""People and apps. Tests depend on their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

TEAM = "T0REHEARSAL"
TEAM_NAME = "Rehearsal"
TEAM_DOMAIN = "rehearsal"
TEAM_URL = f"https://{TEAM_DOMAIN}.slack.com/"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceMember:
    id: str
    name: str
    token: str
    owner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledApp:
    """App and its bot user. `agent`: it may have agent sessions."""

    id: str
    user: str
    bot: str
    name: str
    bot_token: str
    app_token: str
    scopes: tuple[str, ...]
    agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOwner:
    """Owner of a token. `id` is a user id, of the bot user for an app-level token."""

    id: str
    kind: Literal["user", "bot", "app"]
    app: InstalledApp | None = None


HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")
READ = ("channels:read", "groups:read", "im:read", "mpim:read", "users:read", "team:read")
WRITE = ("chat:write", "im:write", "mpim:write")

ALICE = WorkspaceMember(id="U0ALICE0001", name="Alice", token="xoxp-alice", owner=True)
BOB = WorkspaceMember(id="U0BOB000002", name="Bob", token="xoxp-bob")
CAROL = WorkspaceMember(id="U0CAROL0003", name="Carol", token="xoxp-carol")
PEOPLE = (ALICE, BOB, CAROL)
BARISTAS = "S0BARISTAS1"
USER_GROUPS = {BARISTAS: (BOB.id, CAROL.id)}
"""Members of user groups by id."""

SOUL = InstalledApp(
    id="A0CLAUDIUS1",
    user="U0CLAUDIUS1",
    bot="B0CLAUDIUS1",
    name="Claudius",  # default if soul.md names none
    bot_token="xoxb-rehearsal",
    app_token="xapp-rehearsal",
    scopes=(
        "app_mentions:read",
        "assistant:write",
        "files:read",
        "files:write",
        "reactions:read",
        "reactions:write",
        "usergroups:read",
        *HISTORY,
        *READ,
        *WRITE,
    ),
    agent=True,
)
ECHO = InstalledApp(
    id="A0ECHO00002",
    user="U0ECHO00002",
    bot="B0ECHO00002",
    name="Echo",
    bot_token="xoxb-rehearsal-2",
    app_token="xapp-rehearsal-2",
    scopes=("app_mentions:read", *HISTORY, *READ, *WRITE),
)
APPS = (SOUL, ECHO)

CALLERS = {
    **{person.token: TokenOwner(id=person.id, kind="user") for person in PEOPLE},
    **{app.bot_token: TokenOwner(id=app.user, kind="bot", app=app) for app in APPS},
    **{app.app_token: TokenOwner(id=app.user, kind="app", app=app) for app in APPS},
}
NAMES = {**{person.id: person.name for person in PEOPLE}, **{app.user: app.name for app in APPS}}


def app_of(user: str) -> InstalledApp | None:
    for app in APPS:
        if app.user == user:
            return app
    return None


def name_of(user: str, soul: str) -> str:
    return soul if user == SOUL.user else NAMES[user]


def handle_of(user: str, soul: str) -> str:
    """Return a name as a Slack handle: lower case, with dots for blanks."""
    return name_of(user, soul).lower().replace(" ", ".")


def user_json(user: str, soul: str) -> dict[str, Any]:
    name, app = name_of(user, soul), app_of(user)
    owner = any(person.id == user and person.owner for person in PEOPLE)
    profile: dict[str, Any] = {"real_name": name, "display_name": name, "team": TEAM}
    if app is not None:
        profile |= {"bot_id": app.bot, "api_app_id": app.id}
    return {
        "id": user,
        "team_id": TEAM,
        "name": handle_of(user, soul),
        "real_name": name,
        "deleted": False,
        "profile": profile,
        "tz": "Etc/UTC",
        "tz_label": "Coordinated Universal Time",
        "tz_offset": 0,
        "is_bot": app is not None,
        "is_app_user": False,
        "is_owner": owner,
        "is_admin": owner,
        "is_primary_owner": owner,
        "updated": 0,
    }


def bot_json(app: InstalledApp, soul: str) -> dict[str, Any]:
    return {
        "id": app.bot,
        "app_id": app.id,
        "user_id": app.user,
        "name": name_of(app.user, soul),
        "deleted": False,
        "updated": 0,
    }
