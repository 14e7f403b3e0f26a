"""Lines printed at a start: soul, workspace, model, journal, budget and a link to the page."""

from __future__ import annotations

from urllib.parse import urlsplit

from config import Settings
from daemon.claude.client import highest_cost
from daemon.claude.models import SPOKEN
from daemon.slack.web_api import SLACK
from daemon.turn.usage_limits import DailyBudget

LEAST_PROMPT_TOKENS = 2_000
"""Tokens of the shortest prompt of a call."""


READY, STANDING_BY = "ready", "ready, standing by"


def unusual_host(url: str, home: str) -> str:
    """Return the host of `url`; empty if it is the usual address `home`."""
    return "" if url in ("", home) else urlsplit(url).netloc


def budget_warning_line(settings: Settings) -> str:
    """Return a warning if one call may cost more than the daily budget; else empty."""
    if settings.claude == "rehearsed":
        return ""
    spec = settings.table.model(settings.claude_model)
    least = highest_cost(spec, LEAST_PROMPT_TOKENS, spec.answer_tokens(SPOKEN + spec.thoughts))
    if least <= settings.budget_daily_usd:
        return ""
    return (
        f"; no call is made: one of {spec.id} may cost up to ${least:.2f}, more than BUDGET_DAILY_USD allows"
    )


def print_start_lines(
    settings: Settings, name: str, budget: DailyBudget, link: str, *, is_standing_by: bool = False
) -> None:
    """Print at most nine lines about the start; the last has the link to the page."""
    workspace = unusual_host(settings.slack_api_url, SLACK) or "Slack"
    thinker = settings.claude_model
    if settings.slack == "rehearsed":
        workspace = "rehearsed on this machine (for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN)"
    if settings.claude == "rehearsed":
        thinker = "rehearsed by a script that says so (for Claude, set ANTHROPIC_API_KEY)"
        if settings.openai_api_key:
            thinker = "rehearsed by a script that says so (OPENAI_API_KEY needs OPENAI_BASE_URL, too)"
    elif settings.model_url:
        thinker = f"{thinker} at {unusual_host(settings.model_url, '')}"
    print(f"soul       {name}, as soul.md says")
    print(f"workspace  {workspace}")
    print(f"model      {thinker}")
    print(f"journal    {settings.journal_path}")
    if settings.ism_enabled:
        watched = "a limit ends a run (with OWNER_USER_IDS, an owner may let it go on)"
        if settings.owner_user_ids:
            watched = "at a limit an owner may let it go on"
        print(f"decides    by itself, in runs of {settings.ism_max_loops} rounds; {watched}")
    spent = budget.today().cost
    warning = budget_warning_line(settings)
    print(f"budget     ${budget.daily:.2f} a day (UTC), ${spent:.2f} of it spent today{warning}")
    print(f"{STANDING_BY if is_standing_by else READY}  {link}", flush=True)
