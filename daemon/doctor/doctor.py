"""`python -m daemon doctor`: looks at everything once, says each in a line, and how to mend it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from config import Settings, load, misspelt, taken_for_false, unreadable_lines
from daemon.connections import access_for, claude_for, models_of
from daemon.doctor import check, machine
from daemon.doctor.capability_table import capability_table
from daemon.doctor.claude import ask_server, claude
from daemon.doctor.finding import Finding, all_well, ill, line, well
from daemon.doctor.prices_and_windows import models
from daemon.doctor.programs import processes, sandbox
from daemon.doctor.slack import slack
from daemon.engine.lock import holder
from daemon.errors import ConfigError
from daemon.ports import Clock
from daemon.project import name, root

LONGEST_NAME = 35
"""Characters that Slack gives the name of an app."""


async def doctor(clock: Clock, as_json: bool) -> int:
    """Print all findings, each as soon as it is there; 1 if one is ill.

    Where no app is connected yet, also the link that makes it.
    """
    shown: list[Finding] = []
    async for finding in examine(clock):
        shown.append(finding)
        if not as_json:
            print(line(finding), flush=True)
    ok = all_well(shown)
    link = ""
    if "bot token" not in [finding.name for finding in shown]:
        link = app_link(name())
    if as_json:
        told = {"ok": ok, "findings": shown, "create_app": link}
        print(json.dumps(told, indent=2, default=asdict))
    elif link:
        print(f"To make the Slack app from manifest.json, open:\n{link}")
    return int(not ok)


def app_link(called: str) -> str:
    """Where Slack makes the app that manifest.json describes, in one click, under this name: the one in the
    file is a placeholder, for whoever pastes it by hand.
    """
    described = _manifest()
    described["display_information"]["name"] = called[:LONGEST_NAME]
    described["features"]["bot_user"]["display_name"] = called
    manifest = json.dumps(described, separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(manifest)}"


async def examine(clock: Clock) -> AsyncIterator[Finding]:
    """Everything, in the order in which a start needs it."""
    yield machine.python(sys.version_info[:3])
    try:
        for key in misspelt():
            yield Finding(name="settings", said=str(key), ok=not key.meant)
        for said in (*unreadable_lines(), *taken_for_false()):
            yield ill("settings", said)
        settings = load()
    except ConfigError as error:
        for wrong in str(error).splitlines():
            yield ill("settings", wrong)
        return
    yield well("settings", "every key that is read can be used")
    async for finding in examine_with(settings, clock):
        yield finding


async def examine_with(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    """All that the settings lead to."""
    code = check.written(root(), owned=check.owned(settings))
    wrong = [one for one in check.examine(root(), code) if not one.ok]
    for one in wrong or [well("texts", "soul.md, the prompts and the playbooks can be used")]:
        yield one
    yield machine.disk(settings.soul_home)
    yield machine.modes(settings.soul_home)
    yield machine.page(settings.soul_home, settings.console_token)
    yield machine.journal(settings.journal_path)
    yield await machine.port(settings.host, settings.port, settings.journal_path)
    yield await sandbox(settings.rlm_sandbox)
    yield await processes(settings.process_commands, settings.process_timeout)
    async for finding in _model(settings, clock):
        yield finding
    async for finding in _workspace(settings, clock):
        yield finding


async def _model(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.claude == "rehearsed":
        said = "rehearsed by a script; for Claude, set ANTHROPIC_API_KEY"
        if settings.openai_api_key:
            said = "rehearsed by a script: OPENAI_API_KEY alone asks nobody, set OPENAI_BASE_URL, too"
        yield well("claude", said)
        return
    paid = settings.budget_daily_usd > 0
    async with claude_for(settings, clock, "") as llm:
        await ask_server(llm)
        for known in models(settings, llm):
            yield known
        async for finding in claude(llm, models_of(settings), paid=paid):
            yield finding
            paid = paid and finding.ok
        async for finding in capability_table(llm, clock, root(), paid=paid):
            yield finding


async def _workspace(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.slack == "rehearsed":
        said = "rehearsed on this machine; for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN"
        yield well("slack", said)
        return
    wanted = frozenset(_manifest()["oauth_config"]["scopes"]["bot"])
    alone = not holder(settings.journal_path)
    async for finding in slack(access_for(settings), wanted, clock, alone=alone):
        yield finding


def _manifest() -> Any:
    return json.loads((root() / "manifest.json").read_text(encoding="utf-8"))
