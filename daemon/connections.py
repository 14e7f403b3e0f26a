"""What the settings say of the world: which model, which workspace, who is answered. For app and doctor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from config import Settings
from daemon.claude.backend import ModelBackend
from daemon.claude.capability_file import CapabilityFile
from daemon.claude.chat_completions import ChatCompletions
from daemon.claude.client import ClaudeClient, Tried
from daemon.claude.request_queue import RequestQueue
from daemon.console.guard import HEADER
from daemon.engine.journal import Journal
from daemon.inner.process_folder import end_and_remove, program_folder_of
from daemon.ports import Clock, Role
from daemon.sandbox.sandboxes import SandboxFactory
from daemon.slack.access import SlackAccess
from daemon.slack.policy import AccessPolicy
from daemon.slack.surface import SlackSurface
from daemon.soul.eraser import Clear, ForgottenContent
from daemon.soul.forms import AnswerForms


class RehearsalMount(Protocol):
    """What of Slack and Claude is rehearsed on this machine. `__main__` loads it, only where it is asked for.

    The tokens are those of the soul's app in the rehearsed Slack.
    """

    @property
    def bot_token(self) -> str: ...
    @property
    def app_token(self) -> str: ...
    def mounted(self, app: web.Application) -> AbstractAsyncContextManager[None]:
        """While inside, this application plays them. Raises OSError where it cannot be."""


def make_claude(settings: Settings, clock: Clock, here: str, tried: Tried | None = None) -> ClaudeClient:
    """The model of these settings; `here` is where it is rehearsed, `tried` is told of tries that failed."""
    if settings.claude == "rehearsed":
        return ClaudeClient(
            api_key="rehearsal",
            base_url=here,
            headers=_headers(settings),
            models=models_by_role(settings),
            clock=clock,
            rehearsed=True,
            table=settings.table,
            limits=settings.stream,
        )
    key, api = settings.anthropic_api_key, None
    if settings.openai_base_url:
        key = settings.openai_api_key
        api = ChatCompletions(base_url=settings.openai_base_url, api_key=key)
    return ClaudeClient(
        api_key=key,
        base_url=settings.anthropic_base_url,
        api=api,
        models=models_by_role(settings),
        clock=clock,
        table=settings.table,
        tried=tried,
        backend=ModelBackend(settings.named_models, CapabilityFile(settings.capabilities_path)),
        limits=settings.stream,
    )


def make_request_queue(settings: Settings, claude: ClaudeClient) -> RequestQueue:
    """Return the queue before models that take few requests at a time."""
    return RequestQueue(settings.model_concurrency, lambda model: claude.capabilities(model).slots)


def make_answer_forms(settings: Settings, claude: ClaudeClient) -> AnswerForms:
    """Return the choice of the form in which each of these models answers."""
    return AnswerForms(
        models_by_role(settings), settings.model_form, lambda role: claude.capabilities(role).keeps_sections
    )


def models_by_role(settings: Settings) -> Mapping[Role, str]:
    """The name of the model of each role; where no fallback is set, the model that speaks stands in."""
    models: dict[Role, str] = {
        "speak": settings.claude_model,
        "fast": settings.claude_model_fast,
        "fallback": settings.claude_model_fallback or settings.claude_model,
    }
    if settings.claude_model_expert:
        models["expert"] = settings.claude_model_expert
    return models


def make_sandboxes(settings: Settings) -> SandboxFactory:
    """Where the small programs run with which it reads. Raises ConfigError for a class that is none."""
    return SandboxFactory(settings.rlm_sandbox)


def make_slack_access(
    settings: Settings, rehearsal: RehearsalMount | None = None, here: str = ""
) -> SlackAccess:
    """The way into the Slack of these settings, or into the rehearsed one, which stands at `here`."""
    if rehearsal is None or settings.slack == "real":
        return SlackAccess(
            bot_token=settings.slack_bot_token,
            app_token=settings.slack_app_token,
            base_url=settings.slack_api_url,
        )
    return SlackAccess(
        bot_token=rehearsal.bot_token,
        app_token=rehearsal.app_token,
        base_url=f"{here}/api/",
        headers=_headers(settings),
    )


def make_slack(
    settings: Settings, access: SlackAccess, journal: Journal, clock: Clock, wake: Callable[[str], None]
) -> SlackSurface:
    """The workspace; nobody is heard there, and so no thread wakes, before it is told to connect."""
    allowed = AccessPolicy(
        users=settings.allowed_users,
        channels=settings.allowed_channels,
        bots=settings.allowed_bots,
        daily=settings.mesh_daily,
    )
    return SlackSurface(
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


def clear_after_forgetting(
    settings: Settings, rehearsal: RehearsalMount | None, here: str
) -> Sequence[Clear]:
    """What is cleared beside the journal when something is forgotten; what is rehearsed stands at `here`."""

    async def folders(gone: ForgottenContent) -> None:
        for started in gone.started:
            folder = program_folder_of(settings.processes_path, started)
            await asyncio.to_thread(end_and_remove, folder)

    async def workspace(gone: ForgottenContent) -> None:
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
