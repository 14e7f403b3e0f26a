"""What Slack says of a token that is of no use, and what its owner can do. For access and web."""

from __future__ import annotations

from daemon.errors import ConfigError

WHERE = {
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from https://api.slack.com/apps, OAuth & Permissions",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write at "
    "https://api.slack.com/apps, Basic Information",
}

REVOKED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""Slack's words for a token that is none any more, whatever it is used for."""
FATAL = REVOKED | {
    "access_denied",
    "enterprise_is_restricted",
    "forbidden_team",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "team_access_not_granted",
}
"""Slack's words for what no further attempt to get in can mend."""


def refused(name: str, at: str, word: str) -> ConfigError:
    """The token of this name was refused there, with this word: what to do."""
    return ConfigError(f"{name} was refused by {at} ({word}): {WHERE[name]}.")
