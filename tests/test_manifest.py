"""Agreement of manifest.json with daemon/slack."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from tests.source import ROOT, modules

HISTORY = {"channels:history", "groups:history", "im:history", "mpim:history"}
READ = {"channels:read", "groups:read", "im:read", "mpim:read"}

SCOPES: dict[str, set[str]] = {
    "agents_sessions_setStatus": {"chat:write"},
    "apps_connections_open": set(),
    "assistant_threads_setStatus": {"assistant:write"},
    "auth_test": set(),
    "bots_info": {"users:read"},
    "chat_appendStream": {"chat:write"},
    "chat_postEphemeral": {"chat:write"},
    "chat_postMessage": {"chat:write"},
    "chat_startStream": {"chat:write"},
    "chat_stopStream": {"chat:write"},
    "chat_update": {"chat:write"},
    "chat_delete": {"chat:write"},
    "conversations_history": HISTORY,
    "conversations_info": READ,
    "conversations_members": READ,
    "conversations_open": {"im:write"},
    "conversations_replies": HISTORY,
    "files_info": {"files:read"},
    "usergroups_users_list": {"usergroups:read"},
    "users_conversations": READ,
    "users_info": {"users:read"},
    "views_open": set(),
}
"""Bot scopes by method, from docs.slack.dev/reference/methods."""
SUBSCRIPTIONS: dict[str, dict[str, str]] = {
    "agent_session_stopped": {"agent_session_stopped": "chat:write"},
    "app_mention": {"app_mention": "app_mentions:read"},
    "channel_id_changed": {"channel_id_changed": "channels:read"},
    "channel_shared": {"channel_shared": "channels:read"},
    "channel_unshared": {"channel_unshared": "channels:read"},
    "message": {
        "message.channels": "channels:history",
        "message.groups": "groups:history",
        "message.im": "im:history",
        "message.mpim": "mpim:history",
    },
    "reaction_added": {"reaction_added": "reactions:read"},
    "reaction_removed": {"reaction_removed": "reactions:read"},
    "user_change": {"user_change": "users:read"},
    "user_profile_changed": {},
}
"""Subscriptions and scopes by event type; empty if another event covers it."""
OTHER_EVENTS = {
    *("app_context_changed", "app_home_opened", "agent_session_title_changed"),
    *("channel_archive", "channel_rename", "file_shared", "member_joined_channel", "member_left_channel"),
    *("team_join", "tokens_revoked", "app_uninstalled"),
}
"""Event types without a listener."""
INTERACTIVE = {"block_actions", "view_submission", "view_closed", "shortcut", "message_action"}
"""Payload types that need interactivity."""
AGENT = {"assistant:write"}
"""Scopes of an app with agent_view."""

MANIFEST: dict[str, Any] = json.loads((ROOT / "manifest.json").read_text(encoding="utf-8"))
ASKED = set(MANIFEST["oauth_config"]["scopes"]["bot"])
SUBSCRIBED = set(MANIFEST["settings"]["event_subscriptions"]["bot_events"])


def words() -> set[str]:
    """Return attributes and strings of daemon/slack, dots as underscores."""
    nodes = [node for one in modules("daemon/slack").values() for node in ast.walk(one.tree)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | texts


def called() -> set[str]:
    """Return Web API methods used in daemon/slack."""
    methods = {name for name in dir(AsyncWebClient) if re.match("[a-z]+_", name)} - {"api_call"}
    return {word.replace(".", "_") for word in words()} & methods


def heard() -> set[str]:
    return words() & (SUBSCRIPTIONS.keys() | OTHER_EVENTS)


def test_every_method_that_is_called_is_in_the_table() -> None:
    assert "chat_postMessage" in called()
    assert called() - SCOPES.keys() == set()


def test_the_events_are_those_that_are_listened_to() -> None:
    assert heard() - SUBSCRIPTIONS.keys() == set()
    assert {event for one in heard() for event in SUBSCRIPTIONS[one]} == SUBSCRIBED


def test_buttons_work_if_there_are_any() -> None:
    assert MANIFEST["settings"]["interactivity"]["is_enabled"] == bool(words() & INTERACTIVE)


def test_the_scopes_are_those_that_are_needed() -> None:
    for_calls = {scope for method in called() for scope in SCOPES[method]}
    for_events = {scope for one in heard() for scope in SUBSCRIPTIONS[one].values()}
    assert for_calls | for_events | AGENT == ASKED


def test_it_makes_an_agent_that_can_be_written_to() -> None:
    home = MANIFEST["features"]["app_home"]
    assert "agent_view" in MANIFEST["features"]
    assert (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)
    assert MANIFEST["settings"]["socket_mode_enabled"]
    assert len(json.dumps(MANIFEST, separators=(",", ":"))) < 1800, "a prefilled link must fit into a URL"
