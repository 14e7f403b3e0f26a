"""views.open."""

from __future__ import annotations

import secrets
from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.channels import channel_of
from rehearsal.modal_blocks import accepted_view
from rehearsal.open_views import OpenView
from rehearsal.people import TEAM
from rehearsal.refusal import ApiError


def open_view(call: MethodCall) -> dict[str, Any]:
    """Show a modal to the person whose press gave the trigger, within three seconds of it."""
    app = call.caller.app
    if app is None:
        raise ApiError("not_allowed_token_type")
    views = call.workspace.views
    trigger = views.redeem(call.need("trigger_id"), app)
    given = accepted_view(call.value("view", dict, "invalid_arguments") or {})
    id = f"V{secrets.token_hex(5).upper()}"
    view = {
        **given,
        "id": id,
        "team_id": TEAM,
        "app_id": app.id,
        "bot_id": app.bot,
        "root_view_id": id,
        "previous_view_id": None,
        "external_id": "",
        "hash": f"{int(call.workspace.clock.now())}.{secrets.token_hex(4)}",
        "state": {"values": {}},
    }
    views.show(OpenView(app=app, user=trigger.user, channel=trigger.channel, view=view))
    channel = channel_of(call.db, trigger.channel, trigger.user)
    call.workspace.feed.tell(channel, {"type": "view", "view": view}, only=trigger.user)
    return {"view": view}


METHODS = {"views.open": ApiMethod(answer=open_view, kinds=("bot",))}
"""No scope is needed."""
