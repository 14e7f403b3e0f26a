"""What the settings say of the world: which model, which workspace, who is answered. For app and doctor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from config import Settings
from daemon.claude.backend import Backend
from daemon.claude.capability_file import CapabilityFile
from daemon.claude.chat_completions import ChatCompletions
from daemon.claude.client import Claude, Tried
from daemon.claude.request_queue import RequestQueue
from daemon.console.guard import HEADER
from daemon.engine.journal import Journal
from daemon.inner.process_folder import end_and_remove, folder_of
from daemon.ports import Clock, Role
from daemon.sandbox.sandboxes import Sandboxes
from daemon.slack.access import Access
from daemon.slack.policy import Allowed
from daemon.slack.surface import Slack
from daemon.soul.eraser import Clear, Gone
from daemon.soul.forms import Forms


class Rehearsal(Protocol):
    """What of Slack and Claude is rehearsed on this machine. `__main__` loads it, only where it is asked for.

    The tokens are those of the soul's app in the rehearsed Slack.
    """

    @property
    def bot_token(self) -> str: ...
    @property
    def app_token(self) -> str: ...
    def mounted(self, app: web.Application) -> AbstractAsyncContextManager[None]:
        """While inside, this application plays them. Raises OSError where it cannot be."""


def claude_for(settings: Settings, clock: Clock, here: str, tried: Tried | None = None) -> Claude:
    """The model of these settings; `here` is where it is rehearsed, `tried` is told of tries that failed."""
    if settings.claude == "rehearsed":
        return Claude(
            api_key="rehearsal",
            base_url=here,
            headers=_headers(settings),
            models=models_of(settings),
            clock=clock,
            rehearsed=True,
            table=settings.table,
            limits=settings.stream,
        )
    key, api = settings.anthropic_api_key, None
    if settings.openai_base_url:
        key = settings.openai_api_key
        api = ChatCompletions(base_url=settings.openai_base_url, api_key=key)
    return Claude(
        api_key=key,
        base_url=settings.anthropic_base_url,
        api=api,
        models=models_of(settings),
        clock=clock,
        table=settings.table,
        tried=tried,
        backend=Backend(settings.named_models, CapabilityFile(settings.capabilities_path)),
        limits=settings.stream,
    )


def queue_for(settings: Settings, claude: Claude) -> RequestQueue:
    """Return the queue before models that take few requests at a time."""
    return RequestQueue(settings.model_concurrency, lambda model: claude.capabilities(model).slots)


def forms_for(settings: Settings, claude: Claude) -> Forms:
    """Return the choice of the form in which each of these models answers."""
    return Forms(
        models_of(settings), settings.model_form, lambda role: claude.capabilities(role).keeps_sections
    )


def models_of(settings: Settings) -> Mapping[Role, str]:
    """The name of the model of each role; where no fallback is set, the model that speaks stands in."""
    models: dict[Role, str] = {
        "speak": settings.claude_model,
        "fast": settings.claude_model_fast,
        "fallback": settings.claude_model_fallback or settings.claude_model,
    }
    if settings.claude_model_expert:
        models["expert"] = settings.claude_model_expert
    return models


def sandboxes_for(settings: Settings) -> Sandboxes:
    """Where the small programs run with which it reads. Raises ConfigError for a class that is none."""
    return Sandboxes(settings.rlm_sandbox)


def access_for(settings: Settings, rehearsal: Rehearsal | None = None, here: str = "") -> Access:
    """The way into the Slack of these settings, or into the rehearsed one, which stands at `here`."""
    if rehearsal is None or settings.slack == "real":
        return Access(
            bot_token=settings.slack_bot_token,
            app_token=settings.slack_app_token,
            base_url=settings.slack_api_url,
        )
    return Access(
        bot_token=rehearsal.bot_token,
        app_token=rehearsal.app_token,
        base_url=f"{here}/api/",
        headers=_headers(settings),
    )


def slack_for(
    settings: Settings, access: Access, journal: Journal, clock: Clock, wake: Callable[[str], None]
) -> Slack:
    """The workspace; nobody is heard there, and so no thread wakes, before it is told to connect."""
    allowed = Allowed(
        users=settings.allowed_users,
        channels=settings.allowed_channels,
        bots=settings.allowed_bots,
        daily=settings.mesh_daily,
    )
    return Slack(
        access,
        allowed,
        journal=journal,
        wake=wake,
        clock=clock,
        connections=settings.slack_connections,
        max_age=settings.catch_up_max_age,
        owners=settings.owner_user_ids,
        notes=settings.inner is not None,
    )


def clearing(settings: Settings, rehearsal: Rehearsal | None, here: str) -> Sequence[Clear]:
    """What is cleared beside the journal when something is forgotten; what is rehearsed stands at `here`."""

    async def folders(gone: Gone) -> None:
        for started in gone.started:
            folder = folder_of(settings.processes_path, started)
            await asyncio.to_thread(end_and_remove, folder)

    async def workspace(gone: Gone) -> None:
        if not gone.all:
            return
        said = [list(one) for one in gone.said]
        asked = {"user": gone.person, "until": gone.until, "messages": said}
        try:
            async with ClientSession(headers=_headers(settings), timeout=ClientTimeout(total=60)) as session:
                await session.post(f"{here}/rehearsal/forget", json=asked, raise_for_status=True)
        except (ClientError, TimeoutError) as error:
            raise OSError(f"The rehearsed workspace did not forget ({error}).") from error

    if rehearsal and settings.slack == "rehearsed":
        return [folders, workspace]
    return [folders]


def _headers(settings: Settings) -> dict[str, str]:
    """What the daemon shows to its own port."""
    if not settings.console_token:
        return {}
    return {HEADER: settings.console_token}
