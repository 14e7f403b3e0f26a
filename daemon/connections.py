"""What the settings say of the world: which model, which workspace, who is answered. For app and doctor."""

from __future__ import annotations

from collections.abc import Mapping

from config import Settings
from daemon.claude.client import Claude
from daemon.console.guard import HEADER
from daemon.ports import Clock, Role
from daemon.rehearsal.people import SOUL
from daemon.slack.access import Access
from daemon.slack.policy import Allowed


def claude_for(settings: Settings, clock: Clock, here: str) -> Claude:
    """The model of these settings; `here` is where it is rehearsed."""
    rehearsed = settings.claude == "rehearsed"
    return Claude(
        api_key="rehearsal" if rehearsed else settings.anthropic_api_key,
        base_url=here if rehearsed else settings.anthropic_base_url or None,
        headers=_headers(settings) if rehearsed else None,
        models=models_of(settings),
        clock=clock,
        rehearsed=rehearsed,
    )


def models_of(settings: Settings) -> Mapping[Role, str]:
    """The name of the model of each role; where no fallback is set, the model that speaks stands in."""
    return {
        "speak": settings.claude_model,
        "fast": settings.claude_model_fast,
        "fallback": settings.claude_model_fallback or settings.claude_model,
        **({"expert": settings.claude_model_expert} if settings.claude_model_expert else {}),
    }


def access_for(settings: Settings, here: str) -> Access:
    """The way into the workspace of these settings; `here` is where it is rehearsed."""
    if settings.slack == "real":
        return Access(
            bot_token=settings.slack_bot_token,
            app_token=settings.slack_app_token,
            base_url=settings.slack_api_url,
        )
    return Access(
        bot_token=SOUL.bot_token,
        app_token=SOUL.app_token,
        base_url=f"{here}/api/",
        headers=_headers(settings),
    )


def allowed_by(settings: Settings) -> Allowed:
    """Who is answered, and where."""
    return Allowed(
        users=settings.allowed_users, channels=settings.allowed_channels, bots=settings.allowed_bots
    )


def _headers(settings: Settings) -> dict[str, str]:
    """What the daemon shows to its own port."""
    return {HEADER: settings.console_token} if settings.console_token else {}
