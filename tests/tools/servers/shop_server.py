"""MCP server of a shop, without the SDK (`python -I -S`). Its tools stand in the file `TOOLS`, as JSON.

At SIGUSR1 it says that they changed, and empties the file `TOLD`. Calls are appended to the file `SOLD`.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]

LISTENING: list[Any] = []


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: Message, **result: Any) -> None:
    send({"id": request["id"], "result": {"resultType": "complete", **result}})


def tell_of_change(*_: object) -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": LISTENING[-1]} if LISTENING else {}
    send({"method": "notifications/tools/list_changed", "params": {"_meta": meta}})
    Path(os.environ["TOLD"]).write_text("")


def discover(request: Message) -> None:
    answer(
        request,
        supportedVersions=["2026-07-28"],
        capabilities={"tools": {"listChanged": True}},
        ttlMs=0,
        cacheScope="private",
        serverInfo={"name": "shop", "version": "1"},
    )


def list_tools(request: Message) -> None:
    tools = json.loads(Path(os.environ["TOOLS"]).read_text())
    answer(request, tools=tools, ttlMs=0, cacheScope="private")


def listen(request: Message) -> None:
    LISTENING.append(request["id"])
    meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    send({"method": "notifications/subscriptions/acknowledged", "params": params})
    Path(os.environ["TOLD"]).write_text(str(os.getpid()))


def call(request: Message) -> None:
    with Path(os.environ["SOLD"]).open("a") as sold:
        sold.write(json.dumps(request["params"]) + "\n")
    answer(request, content=[{"type": "text", "text": "it is sold"}])


METHODS = {
    "server/discover": discover,
    "tools/list": list_tools,
    "subscriptions/listen": listen,
    "tools/call": call,
}


signal.signal(signal.SIGUSR1, tell_of_change)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") in METHODS:
        METHODS[message["method"]](message)
