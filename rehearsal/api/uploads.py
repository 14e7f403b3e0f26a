"""Methods files.*"""

from __future__ import annotations

from typing import Any

from rehearsal.api.call import ApiMethod, MethodCall
from rehearsal.channels import joined_channel
from rehearsal.events import post, root_of
from rehearsal.files import StoredFile, announce, file_json, file_of, finish, readable, share, shares_json
from rehearsal.refusal import ApiError, missing

MOST_AT_ONCE = 10
COMMENT_MOST = 40_000


def get_upload_url(call: MethodCall) -> dict[str, Any]:
    """Announce a file; return its upload URL and id."""
    name, length = call.need("filename"), call.need("length")
    if not length.isdecimal() or len(length) > 15:
        raise ApiError("invalid_arguments")
    id, ticket = announce(call.db, call.user, name, int(length), call.workspace.mint())
    return {"upload_url": f"{_origin(call)}/upload/v1/{ticket}", "file_id": id}


def complete_upload(call: MethodCall) -> dict[str, Any]:
    """Share files in one message per channel; without channels they stay private."""
    files = [finish(call.db, *pair) for pair in _given(call)]
    comment = call.text("initial_comment")[:COMMENT_MOST]
    for name in _channels(call):
        channel = joined_channel(call.db, name, call.user)
        thread = root_of(call.workspace, channel, call.text("thread_ts"))
        shown = [file_json(file, _origin(call)) for file in files]
        said = {"text": comment, "files": shown, "upload": False, "subtype": "file_share"}
        message = post(call.workspace, channel, call.caller, said, thread)
        for file in files:
            share(call.db, file, channel.id, message.stamp)
    return {"files": [_described(call, file) for file in files]}


def info(call: MethodCall) -> dict[str, Any]:
    file = readable(call.db, call.need("file"), call.caller)
    return {"file": _described(call, file), "comments": [], "response_metadata": {"next_cursor": ""}}


def _given(call: MethodCall) -> list[tuple[StoredFile, str]]:
    """Return the caller's uploaded files of this call, with titles."""
    given = call.value("files", list, "invalid_arguments")
    if not given:
        raise missing("files")
    if len(given) > MOST_AT_ONCE or not all(isinstance(one, dict) for one in given):
        raise ApiError("invalid_arguments")
    found = []
    for one in given:
        file = file_of(call.db, str(one.get("id")))
        if file.user != call.user or file.shared or not file.there:
            raise ApiError("file_not_found")
        found.append((file, str(one.get("title") or file.name)))
    return found


def _channels(call: MethodCall) -> list[str]:
    one = call.text("channel_id")
    if one:
        return [one]
    return call.listed("channels")


def _described(call: MethodCall, file: StoredFile) -> dict[str, Any]:
    return file_json(file, _origin(call)) | shares_json(call.db, file)


def _origin(call: MethodCall) -> str:
    return call.origin.replace("ws", "http", 1)


METHODS = {
    "files.getUploadURLExternal": ApiMethod(answer=get_upload_url, scope="files:write"),
    "files.completeUploadExternal": ApiMethod(answer=complete_upload, scope="files:write"),
    "files.info": ApiMethod(answer=info, scope="files:read"),
}
