"""What Slack refuses, in its own words, and what that means: for a call, a token, a scope of the app.

Each lack of a scope is said once. What is a nicety is left out; what is essential is shown until a call of
its kind goes well.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.engine.exceptions import recorded_name
from daemon.errors import ConfigError
from daemon.slack.payload import first_text

OUT_OF_REACH = (aiohttp.ClientError, TimeoutError)
"""What a call raises when Slack was not reached, or did not answer: it may have been done or not."""
LIMITED = "ratelimited"
MISSING_SCOPE = "missing_scope"
CLOSED = frozenset(
    {
        "cannot_dm_bot",
        "cannot_reply_to_message",
        "channel_not_found",
        "ekm_access_denied",
        "invalid_thread_ts",
        "is_archived",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "team_access_not_granted",
        "thread_not_found",
        "user_disabled",
    }
)
"""Slack's words for a conversation in which nothing can be said until somebody changes something there."""
RESTRICTED = "restricted_action"
"""How others of them begin."""
UNWELL = frozenset(
    {
        "",
        LIMITED,
        "external_channel_migrating",
        "fatal_error",
        "internal_error",
        "message_limit_exceeded",
        "rate_limited",
        "request_timeout",
        "service_unavailable",
        "streaming_state_conflict",
        "team_added_to_org",
    }
)
"""Slack's words for being out of order, or for having no time; none at all, where somebody else answered."""
NOT_SLACK = "no answer of Slack's"
LACKING = frozenset(
    [
        "unknown_method",
        "method_deprecated",
        "deprecated_endpoint",
        "missing_scope",
        "not_allowed_token_type",
        "not_agent_app",
        "not_authorized",
        "not_enabled",
        "feature_not_enabled",
        "plan_upgrade_required",
        "access_denied",
        "no_permission",
    ]
)
"""Refusals of a nicety that will not change while this process lives."""
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
FIXED = frozenset({"cant_update_message", "edit_window_closed"})
"""Slack's words for a message that cannot be rewritten any more: only another one can be posted."""
OTHERWISE = (
    FATAL
    | frozenset(LACKING)
    | {
        "accesslimited",
        "deprecated_endpoint",
        "message_not_found",
        "org_login_required",
        "team_not_found",
        "two_factor_setup_required",
        "user_not_found",
        "user_not_in_channel",
    }
)
"""Refusals that say nothing of a message's words: another text would be refused as well."""
WHERE = {
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from https://api.slack.com/apps, OAuth & Permissions",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write at "
    "https://api.slack.com/apps, Basic Information",
}
"""What the owner can do about a token that is of no use."""
ESSENTIAL = "chat:write"
"""Without it nothing can be said at all."""
SCOPE = re.compile(r"[a-z_.]+:[a-z_:.]+")
FIX = (
    "Add it at https://api.slack.com/apps, OAuth & Permissions (manifest.json names all that are needed), "
    "and install the app again."
)

log = logging.getLogger(__name__)


def slack_error(refusal: SlackApiError) -> str:
    """Slack's word for what was wrong; empty when the answer was not Slack's."""
    response = refusal.response
    if not isinstance(response, AsyncSlackResponse):
        return ""
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return LIMITED
    return first_text(response.data, "error")


def is_permanent(refusal: SlackApiError) -> bool:
    """Will Slack never take this? Not so where it is out of order, or our token is."""
    status = getattr(refusal.response, "status_code", HTTPStatus.OK)
    ours = slack_error(refusal) not in UNWELL | REVOKED
    return ours and status < HTTPStatus.INTERNAL_SERVER_ERROR


def is_conversation_closed(failure: Exception) -> bool:
    """Does Slack say that nothing can be said in this conversation, whatever it is?"""
    if not isinstance(failure, SlackApiError):
        return False
    word = slack_error(failure)
    return word in CLOSED or word.startswith(RESTRICTED)


def is_content_refusal(failure: Exception) -> bool:
    """Does Slack refuse what is in a message? So it is taken for each word of Slack's that is not known.

    What is wrong with Slack, with us or with the place has words that are known, and lasts.
    """
    if not isinstance(failure, SlackApiError) or is_conversation_closed(failure):
        return False
    return is_permanent(failure) and slack_error(failure) not in OTHERWISE


def describe_failure(failure: Exception) -> str:
    """What to say of a call that failed: never an address, which may hold a ticket."""
    if isinstance(failure, SlackApiError):
        return slack_error(failure) or NOT_SLACK
    if isinstance(failure, aiohttp.ClientError) and not isinstance(failure, aiohttp.ClientPayloadError):
        return f"{type(failure).__name__} {getattr(failure, 'status', '')}".rstrip()
    return str(failure) or recorded_name(failure)


def token_advice(name: str, at: str, word: str) -> ConfigError:
    """The token of this name was refused there, with this word: what to do."""
    return ConfigError(f"{name} was refused by {at} ({word}): {WHERE[name]}.")


class ScopeStatus:
    """What is known of them in this life."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lacking: dict[str, str] = {}
        """What each method was refused for."""

    @property
    def owner_advice(self) -> Sequence[str]:
        """What is lacking without which the soul cannot speak, and what to do."""
        essential = dict.fromkeys(needed for needed in self._lacking.values() if ESSENTIAL in needed)
        return [
            f"The Slack app lacks the scope {needed}, so nothing can be said. {FIX}" for needed in essential
        ]

    def note_refused(self, method: str, answer: Mapping[str, Any]) -> None:
        """Slack refused this method for want of a scope; its answer names it, and those that there are."""
        needed = _scopes(answer, "needed") or "one that it does not name"
        self._lacking[method] = needed
        if (method, needed) not in self._told:
            self._told.add((method, needed))
            provided = _scopes(answer, "provided") or "none"
            log.error(
                "Slack refuses %s: the app lacks the scope %s. %s It has: %s.", method, needed, FIX, provided
            )

    def note_accepted(self, method: str) -> None:
        """Slack took a call of this method: what it was refused for is there now, for others, too."""
        needed = self._lacking.get(method)
        if needed:
            self._lacking = {other: lacks for other, lacks in self._lacking.items() if lacks != needed}


def _scopes(answer: Mapping[str, Any], name: str) -> str:
    return ", ".join(SCOPE.findall(first_text(answer, name)))
