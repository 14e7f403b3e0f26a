"""MCP server without the SDK, which starts in 30 ms and misbehaves as it is told (`python -I -S`).

Arguments: `modern` or `legacy` (era), and a fault of the start: `garbage`, `dies`, `mute`, `stays`. Each tool
is a behaviour. What comes in is appended to the file in `HEARD`, one message a line.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]

MODERN = "2026-07-28"
ERA = "modern" if "modern" in sys.argv else "legacy"
HEARD = os.environ.get("HEARD")
SHOWN = os.environ.get("SHOWN_KEY", "")
"""Secret of this server, which it shows wherever it can."""

TOOLS = ["echo"]
"""Tools of the current list; `rename` changes it."""


def send(message: Message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request: Message, **result: Any) -> None:
    """Answer a request with a result; a text becomes a text block."""
    if "text" in result:
        result["content"] = [{"type": "text", "text": result.pop("text")}]
    if ERA == "modern":
        result |= {"resultType": result.get("resultType", "complete")}
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def refuse(request: Message, code: int, message: str) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})


def notify(method: str, **params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def tool(name: str) -> Message:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    hints = {"readOnlyHint": name in os.environ.get("READS", "").split()}
    made = {
        "name": name,
        "description": f"Does {name}. {SHOWN}".strip(),
        "inputSchema": schema,
        "annotations": hints,
    }
    if "hostile_schema" in sys.argv:
        hostile = {"type": "string", "pattern": "^(a+)+$"}
        made["outputSchema"] = {"type": "object", "properties": {"text": hostile}}
    return made


def discover(request: Message) -> None:
    if ERA == "legacy":
        return refuse(request, -32601, "Method not found")
    capabilities = {"tools": {"listChanged": True}}
    return answer(
        request,
        supportedVersions=[MODERN],
        capabilities=capabilities,
        ttlMs=0,
        cacheScope="private",
        serverInfo={"name": "raw", "version": "1"},
    )


def initialize(request: Message) -> None:
    version = request["params"]["protocolVersion"]
    capabilities = {"tools": {"listChanged": True}, "resources": {}}
    info = {"name": "raw", "version": "1"}
    answer(request, protocolVersion=version, capabilities=capabilities, serverInfo=info)


def list_tools(request: Message) -> None:
    more: Message = {}
    if ERA == "modern":
        more = {"ttlMs": 90_000 if "brief" in sys.argv else 0, "cacheScope": "private"}
    if "endless_list" in sys.argv:
        more["nextCursor"] = "on"
    names = [*TOOLS, *sorted(CALLS)]
    if "many_tools" in sys.argv:
        names += [f"tool_{n}" for n in range(10_000)]
    if "huge_list" in sys.argv:
        names += [f"tool_{n}" for n in range(40_000)]
    answer(request, tools=[tool(name) for name in names], **more)


def listen(request: Message) -> None:
    LISTENING.append(request["id"])
    notify(
        "notifications/subscriptions/acknowledged",
        notifications={"toolsListChanged": True},
        _meta={"io.modelcontextprotocol/subscriptionId": request["id"]},
    )


LISTENING: list[Any] = []


def echo(request: Message) -> None:
    answer(request, text=json.dumps(request["params"].get("arguments", {})))


def env(request: Message) -> None:
    answer(request, text=json.dumps(dict(os.environ)))


def die(request: Message) -> None:
    sys.stderr.write("I die\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def never(request: Message) -> None:
    """Answer nothing."""


def late(request: Message) -> None:
    time.sleep(float(request["params"]["arguments"]["text"]))
    answer(request, text="late")


def twice(request: Message) -> None:
    answer(request, text="first")
    answer(request, text="second")


def endless(request: Message) -> None:
    while True:
        sys.stdout.write("x" * 1_000_000)


def flood(request: Message) -> None:
    while request["params"]["arguments"]["text"] == "stderr":
        sys.stderr.write("y" * 70 + "\n")
    changed = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    while True:
        sys.stdout.write(f"{changed}\nno message\n" * 1_000)


def large(request: Message) -> None:
    answer(request, text="x" * int(request["params"]["arguments"]["text"]))


def large_id_last(request: Message) -> None:
    text = "x" * int(request["params"]["arguments"]["text"])
    result = {"content": [{"type": "text", "text": text}]}
    send({"result": result, "jsonrpc": "2.0", "id": request["id"]})


def many_values(request: Message) -> None:
    values = "[" + ",".join(["1"] * 4_500_000) + "]"
    line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}})
    sys.stdout.write(line.replace("[]", f'[], "structuredContent": {{"many": {values}}}') + "\n")
    sys.stdout.flush()


def structured(request: Message) -> None:
    answer(request, content=[], structuredContent={"text": "a" * 40 + "!"})


def nothing(request: Message) -> None:
    answer(request, content=[])


def pid(request: Message) -> None:
    answer(request, text=str(os.getpid()))


def log(request: Message) -> None:
    given = request["params"]["arguments"]
    for _ in range(int(given.get("times", 1))):
        sys.stderr.write(given["text"] + "\n")
    sys.stderr.flush()
    answer(request, text="logged")


def sample(request: Message) -> None:
    asked = {"messages": [], "maxTokens": 5}
    answer(
        request,
        resultType="input_required",
        inputRequests={"one": {"method": "sampling/createMessage", "params": asked}},
    )


def surrogate(request: Message) -> None:
    answer(request, text="half \ud800 done")  # json.dumps escapes it


def bytes_no_utf8(request: Message) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": [], "x": "?"}})
    text = line.replace('"content": []', '"content": [{"type": "text", "text": "@"}]').encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(text.replace(b"@", b"a\xff\xfeb") + b"\n")
    sys.stdout.buffer.flush()


def controls(request: Message) -> None:
    answer(request, text="NUL \x00 and \x1b[31mred\x1b[0m and \u202eback")


def garbage(request: Message) -> None:
    sys.stdout.write('Listening on port 80\n{"no": "message"}\n[1, 2]\n\n{\n')
    answer(request, text="after garbage")


def is_error(request: Message) -> None:
    answer(request, text="no such city", isError=True)


def rpc_error(request: Message) -> None:
    refuse(request, int(request["params"]["arguments"]["text"]), "it says \x1b[31mno")


def no_result(request: Message) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": {"content": "nonsense"}})


def progress(request: Message) -> None:
    token = request["params"]["_meta"]["progressToken"]
    for n in range(1, 5):
        notify(
            "notifications/progress",
            progressToken=token,
            progress=n,
            total=4,
            message=f"step {n} {SHOWN}".strip(),
        )
        time.sleep(0.25)
    answer(request, text="done")


def rename(request: Message) -> None:
    TOOLS[:] = ["renamed"]
    answer(request, text="renamed")
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTENING[0]}} if LISTENING else {}
    notify("notifications/tools/list_changed", **meta)


def pages(request: Message) -> None:
    answer(
        request,
        content=[
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {
                "type": "resource_link",
                "uri": "file:///a.txt",
                "name": "a.txt",
                "mimeType": "text/plain",
                "size": 9,
            },
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "in b"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA"}},
        ],
        structuredContent={"count": 2},
    )


def ask(request: Message) -> None:
    send(
        {
            "jsonrpc": "2.0",
            "id": "asked",
            "method": "elicitation/create",
            "params": {
                "message": f"Sure? {SHOWN}".strip(),
                "requestedSchema": {"type": "object", "properties": {}},
            },
        }
    )
    WAITING.append(request)


WAITING: list[Message] = []


def need_input(request: Message) -> None:
    params = request["params"]
    if "inputResponses" in params or "requestState" in params:
        if params.get("requestState") != "held":
            return refuse(request, -32602, "Invalid or expired requestState")
        return answer(request, text=json.dumps(params["inputResponses"]))
    message = f"Sure? {SHOWN}".strip()
    asked = {"message": message, "mode": "form", "requestedSchema": {"type": "object", "properties": {}}}
    return answer(
        request,
        resultType="input_required",
        inputRequests={"sure": {"method": "elicitation/create", "params": asked}},
        requestState="held",
    )


def spawn(request: Message) -> None:
    """Start a child that outlives its parent."""
    pid = os.fork()
    if pid == 0:
        sys.stdin.close()
        os.close(1)
        time.sleep(600)
        os._exit(0)
    answer(request, text=str(pid))


def closes_input(request: Message) -> None:
    """Close the input, and go on without it."""
    answer(request, text="closed")
    os.close(0)
    time.sleep(600)


def deaf(request: Message) -> None:
    """Stop reading."""
    answer(request, text="deaf")
    time.sleep(600)


CALLS: dict[str, Callable[[Message], None]] = {
    name: globals()[name]
    for name in (
        *("env", "die", "never", "late", "twice", "endless", "large", "large_id_last", "surrogate"),
        *("bytes_no_utf8", "controls", "garbage", "is_error", "rpc_error", "no_result", "progress"),
        *("flood", "many_values", "structured", "nothing", "pid", "log", "sample"),
        *("rename", "pages", "ask", "need_input", "spawn", "deaf", "closes_input"),
    )
}


def read_resource(request: Message) -> None:
    uri = request["params"]["uri"]
    if uri == "file:///gone":
        return refuse(request, -32002, "Resource not found")
    return answer(request, contents=[{"uri": uri, "mimeType": "text/plain", "text": f"all of {uri}"}])


METHODS: dict[str, Callable[[Message], None]] = {
    "server/discover": discover,
    "initialize": initialize,
    "tools/list": list_tools,
    "subscriptions/listen": listen,
    "resources/read": read_resource,
    "ping": answer,
}


def take(message: Message) -> None:
    method = message.get("method")
    if message.get("id") == "asked" and WAITING:
        answer(WAITING.pop(), text=json.dumps(message.get("result")))
    elif method == "tools/call":
        CALLS.get(message["params"]["name"], echo)(message)
    elif method in METHODS:
        METHODS[method](message)
    elif "id" in message and method:
        refuse(message, -32601, "Method not found")


def main() -> None:
    if "dies" in sys.argv:
        sys.stderr.write("no key, no service: secret-of-the-test\n")
        sys.exit(3)
    if "garbage" in sys.argv:
        sys.stdout.write("Welcome!\n" * 3 + "\x00\xff\n")
    if "mute" in sys.argv:
        time.sleep(600)
    if "stays" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        if HEARD:
            with Path(HEARD).open("a") as heard:
                heard.write(line)
        take(json.loads(line))
    if "stays" in sys.argv:
        time.sleep(600)


if __name__ == "__main__":
    main()
