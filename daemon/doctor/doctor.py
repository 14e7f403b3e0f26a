"""`python -m daemon doctor`: looks at everything once, says each in a line, and how to mend it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from config import Settings, load, misspelt, taken_for_false, unreadable_lines
from daemon.connections import make_claude, make_slack_access, models_by_role
from daemon.doctor import check, machine
from daemon.doctor.capability_table import capability_table
from daemon.doctor.claude import ask_server, examine_claude
from daemon.doctor.finding import Finding, all_well, finding_line, ill_finding, well_finding
from daemon.doctor.prices_and_windows import examine_models
from daemon.doctor.programs import examine_programs, examine_sandbox
from daemon.doctor.slack import examine_slack
from daemon.engine.lock import lock_holder
from daemon.errors import ConfigError
from daemon.ports import Clock
from daemon.project import project_root, soul_name

LONGEST_NAME = 35
"""Characters that Slack gives the name of an app."""


async def examine_installation(clock: Clock, as_json: bool) -> int:
    """Print all findings, each as soon as it is there; 1 if one is ill.

    Where no app is connected yet, also the link that makes it.
    """
    shown: list[Finding] = []
    async for finding in all_findings(clock):
        shown.append(finding)
        if not as_json:
            print(finding_line(finding), flush=True)
    ok = all_well(shown)
    link = ""
    if "bot token" not in [finding.name for finding in shown]:
        link = app_link(soul_name())
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


async def all_findings(clock: Clock) -> AsyncIterator[Finding]:
    """Everything, in the order in which a start needs it."""
    yield machine.examine_python(sys.version_info[:3])
    try:
        for key in misspelt():
            yield Finding(name="settings", said=str(key), ok=not key.meant)
        for said in (*unreadable_lines(), *taken_for_false()):
            yield ill_finding("settings", said)
        settings = load()
    except ConfigError as error:
        for wrong in str(error).splitlines():
            yield ill_finding("settings", wrong)
        return
    yield well_finding("settings", "every key that is read can be used")
    async for finding in settings_findings(settings, clock):
        yield finding


async def settings_findings(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    """All that the settings lead to."""
    code = check.find_owner_code(project_root(), owned=check.has_known_owner(settings))
    wrong = [one for one in check.find_text_findings(project_root(), code) if not one.ok]
    for one in wrong or [well_finding("texts", "soul.md, the prompts and the playbooks can be used")]:
        yield one
    yield machine.examine_disk(settings.soul_home)
    yield machine.examine_file_modes(settings.soul_home)
    yield machine.examine_page_access(settings.soul_home, settings.console_token)
    yield machine.examine_journal(settings.journal_path)
    yield await machine.examine_port(settings.host, settings.port, settings.journal_path)
    yield await examine_sandbox(settings.rlm_sandbox)
    yield await examine_programs(settings.process_commands, settings.process_timeout)
    async for finding in _model(settings, clock):
        yield finding
    async for finding in _workspace(settings, clock):
        yield finding


async def _model(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.claude == "rehearsed":
        said = "rehearsed by a script; for Claude, set ANTHROPIC_API_KEY"
        if settings.openai_api_key:
            said = "rehearsed by a script: OPENAI_API_KEY alone asks nobody, set OPENAI_BASE_URL, too"
        yield well_finding("claude", said)
        return
    paid = settings.budget_daily_usd > 0
    async with make_claude(settings, clock, "") as llm:
        await ask_server(llm)
        for known in examine_models(settings, llm):
            yield known
        async for finding in examine_claude(llm, models_by_role(settings), paid=paid):
            yield finding
            paid = paid and finding.ok
        async for finding in capability_table(llm, clock, project_root(), paid=paid):
            yield finding


async def _workspace(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    if settings.slack == "rehearsed":
        said = "rehearsed on this machine; for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN"
        yield well_finding("slack", said)
        return
    wanted = frozenset(_manifest()["oauth_config"]["scopes"]["bot"])
    alone = not lock_holder(settings.journal_path)
    async for finding in examine_slack(make_slack_access(settings), wanted, clock, alone=alone):
        yield finding


def _manifest() -> Any:
    return json.loads((project_root() / "manifest.json").read_text(encoding="utf-8"))
