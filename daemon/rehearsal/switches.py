"""`/rehearsal/faults`: every fault of what is rehearsed here, looked at and switched. For the page and tests.

GET answers {"ok": true, "faults": […]}. POST takes {"name": …, "on": true, …} with what the fault is told
besides, {"name": …, "on": false}, or {"on": false} for all of them, and answers what GET would.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.rehearsal.parsed import parsed
from daemon.rehearsal.switchboard import Nonsense, Switchboard

BOARDS = web.AppKey("faults", list[Switchboard])


def expose(app: web.Application, board: Switchboard) -> None:
    """Add the faults of one rehearsed thing to this application's."""
    if BOARDS not in app:
        app[BOARDS] = []
        app.router.add_get("/rehearsal/faults", _look)
        app.router.add_post("/rehearsal/faults", _switch)
        app.on_shutdown.append(_end)
    app[BOARDS].append(board)


async def _look(request: web.Request) -> web.Response:
    faults = [fault for board in request.app[BOARDS] for fault in board.json()]
    return web.json_response({"ok": True, "faults": faults})


async def _end(app: web.Application) -> None:
    """What a fault holds up goes on, so that the server can end."""
    for board in app[BOARDS]:
        board.all_off()


async def _switch(request: web.Request) -> web.Response:
    try:
        _follow(request.app[BOARDS], _asked(await request.text()))
    except Nonsense as nonsense:
        return web.json_response({"ok": False, "error": str(nonsense)}, status=400)
    return await _look(request)


def _follow(boards: list[Switchboard], asked: dict[str, Any]) -> None:
    on = asked.pop("on", True)
    if not isinstance(on, bool):
        raise Nonsense(f"on is true or false, not {on!r}.")
    if not asked and not on:
        for board in boards:
            board.all_off()
        return
    name = str(asked.pop("name", None))
    board = next((board for board in boards if board.knows(name)), boards[0])
    board.switch(name, on, **asked)


def _asked(text: str) -> dict[str, Any]:
    try:
        asked = parsed(text)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise Nonsense('A JSON object is wanted, like {"name": "delay", "on": true, "seconds": 5}.')
    return asked
