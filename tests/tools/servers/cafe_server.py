"""MCP server of a café that asks people before it goes on, in both eras; without the SDK, as raw_server.py.

Arguments: `modern` or `legacy`; `forgets`: its request states end with its process. What it was told is
appended to the file in `HEARD`, one JSON object a line.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]

MODERN = "2026-07-28"
IS_MODERN = "modern" in sys.argv
STATE = f"state-{os.getpid()}" if "forgets" in sys.argv else "state"
HEARD = Path(os.environ["HEARD"])


def form(message: str, required: list[str], **properties: Message) -> Message:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"message": message, "mode": "form", "requestedSchema": schema}


SIZES = {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]}
CAKE = form(
    "Which cake, and for when?",
    ["cake", "pieces"],
    cake={"type": "string", "title": "Cake", "description": "As on the menu", "maxLength": 40},
    pieces={"type": "integer", "minimum": 1, "maximum": 12, "default": 1},
    day={"type": "string", "format": "date"},
    size={**SIZES, "default": "l"},
)
ROUNDS: dict[str, list[list[Message]]] = {
    "order": [[CAKE]],
    "choose": [[form("Which size?", ["size"], size=SIZES)]],
    "sure": [[form("Shall it be wrapped?", ["wrapped"], wrapped={"type": "boolean"})]],
    "confirm": [[form("Shall I go on?", [])]],
    "login": [[form("Sign in", ["pa55_word"], pa55_word={"type": "string", "title": "Your Pass-Word"})]],
    "pay": [[{"mode": "url", "message": "Pay for it", "url": "https://1.1.1.1/bill?id=7#now"}]],
    "inside": [[{"mode": "url", "message": "Look", "url": "https://192.168.0.1/admin"}]],
    "nowhere": [[{"mode": "url", "message": "Look", "url": "https://nowhere.invalid/admin"}]],
    "rounds": [
        [form("Which size?", ["size"], size=SIZES)],
        [form("Shall it be wrapped?", ["wrapped"], wrapped={"type": "boolean"})],
    ],
    "endless": [[form("Again?", [])]] * 99,
    "hurry": [[form("Quick!", ["size"], size=SIZES)]],
    "sample": [[]],
    "both": [[form("Which size?", ["size"], size=SIZES), form("Shall I go on?", []), form("Sure?", [])]],
    "huge": [[form("x" * 200_000, [])]],
    "bill": [[{"mode": "url", "message": "Pay first", "url": "https://1.1.1.1/first"}]],
    "odd": [[form("Deep", ["deep"], deep={"type": "object", "properties": {}})]],
}
"""The questions of each tool, by round."""

WAITING: dict[str, Message] = {}
"""Calls of the older era that wait for an answer, by the id of the question."""


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear(what: Message) -> None:
    with HEARD.open("a") as heard:
        heard.write(json.dumps(what) + "\n")


def result(request: Message, **told: Any) -> None:
    if IS_MODERN:
        told.setdefault("resultType", "complete")
    send({"id": request["id"], "result": told})


def finish(request: Message, answers: Any) -> None:
    hear({"done": request["params"]["name"], "answers": answers})
    result(request, content=[{"type": "text", "text": f"done: {json.dumps(answers)}"}])


def call(request: Message) -> None:
    params = request["params"]
    rounds = ROUNDS[params["name"]]
    hear({"called": params["name"], "state": params.get("requestState")})
    if params["name"] == "bill" and not IS_MODERN:
        return bill(request, rounds[0][0])
    if not IS_MODERN:
        WAITING["asked"] = request
        more = {"elicitationId": "e1"} if rounds[0][0]["mode"] == "url" else {}
        send({"id": "asked", "method": "elicitation/create", "params": {**rounds[0][0], **more}})
        return finish(WAITING.pop("asked"), "unasked") if params["name"] == "hurry" else None
    state, _, number = params.get("requestState", f"{STATE}#0").partition("#")
    if state != STATE:
        reason = {"reason": "invalid_request_state"}
        error = {"code": -32602, "message": "Invalid or expired requestState", "data": reason}
        send({"id": request["id"], "error": error})
        return None
    if params["name"] == "sample":
        asked = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}}
        return result(request, resultType="input_required", inputRequests={"q0": asked}, requestState=STATE)
    answers = params.get("inputResponses")
    declined = answers and any(one["action"] != "accept" for one in answers.values())
    if declined or int(number) >= len(rounds):
        finish(request, answers)
        return None
    asked = {
        f"q{n}": {"method": "elicitation/create", "params": one} for n, one in enumerate(rounds[int(number)])
    }
    state = f"{STATE}#{int(number) + 1}"
    return result(request, resultType="input_required", inputRequests=asked, requestState=state)


def bill(request: Message, page: Message) -> None:
    """Refuse a call of the older era until a page was opened; the second one is taken as paid."""
    WAITING.setdefault("bill", request)
    if WAITING["bill"] is not request:
        return finish(request, "paid")
    data = {"elicitations": [{**page, "elicitationId": "e1"}]}
    return send({"id": request["id"], "error": {"code": -32042, "message": "Open a page", "data": data}})


def take(message: Message) -> None:
    method = message.get("method")
    if message.get("id") in WAITING and "result" in message:
        finish(WAITING.pop(message["id"]), message.get("result"))
    elif method == "server/discover" and IS_MODERN:
        info = {"name": "cafe", "version": "1"}
        more = {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }
        result(message, serverInfo=info, **more)
    elif method == "initialize":
        version, info = message["params"]["protocolVersion"], {"name": "cafe", "version": "1"}
        result(message, protocolVersion=version, capabilities={"tools": {}}, serverInfo=info)
    elif method == "tools/list":
        schema = {"type": "object", "properties": {}}
        tools = [{"name": name, "description": f"Does {name}.", "inputSchema": schema} for name in ROUNDS]
        result(message, tools=tools, **({"ttlMs": 0, "cacheScope": "private"} if IS_MODERN else {}))
    elif method == "tools/call":
        call(message)
    elif "id" in message and method:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


for line in sys.stdin:
    take(json.loads(line))
