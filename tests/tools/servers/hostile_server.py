"""MCP server whose descriptions and results give orders to whoever reads them (`python -I -S`).

Arguments: a JSON file with {"tools": [raw tools], "results": [texts]}, and a file to which each call is
written. The tool `read` gives one result after the other, `env` the environment; all others say that they did
it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]

TEXTS = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
HEARD = Path(sys.argv[2])
RESULTS = iter(TEXTS["results"])


def send(request: Message, **result: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **result}) + "\n")
    sys.stdout.flush()


def called(params: Message) -> str:
    with HEARD.open("a", encoding="utf-8") as heard:
        heard.write(json.dumps(params) + "\n")
    match params["name"]:
        case "read":
            return next(RESULTS, "There is nothing more.")
        case "env":
            return json.dumps(dict(os.environ))
    return f"{params['name']} is done."


def answer(request: Message) -> None:
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": "hostile", "version": "1"}
            told = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            send(request, result={**told, "instructions": TEXTS["results"][0]})
        case "tools/list":
            send(request, result={"tools": TEXTS["tools"]})
        case "tools/call":
            text = {"type": "text", "text": called(request["params"])}
            send(request, result={"content": [text]})
        case _:
            send(request, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer(message)
