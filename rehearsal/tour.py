"""The tour: what somebody who has no key may try, in the order of tour.toml, and what to watch for.

The page shows it as chips; whoever clicks one says its words in the rehearsed workspace, no more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aiohttp import web

from rehearsal.people import ALICE

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FILES = "examples/cafe"
"""The folder of sample files, in the project."""
OWNER = ALICE.id
"""Who owns the soul where nobody else does: the first one of whom one posts as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One thing to try: whoever is `person` says `words` in the place (a channel's name; "": their DM).

    `file` goes with it, `watch` says what to look for. With `inner` it is for a soul that has an inner life.
    """

    id: str
    title: str
    words: str
    watch: str
    place: str = ""
    file: str = ""
    inner: bool = False


def stops(name: str) -> Sequence[Stop]:
    """All of them, as tour.toml has them; `name` is the soul's."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    written = tomllib.loads(text.replace("$name", name))
    return [Stop(id=id, **one) for id, one in written.items()]


def mount(app: web.Application, name: str) -> None:
    """Add the tour, and the files that go with it, to a server."""
    every = stops(name)
    files = {stop.file: EXAMPLES / stop.file for stop in every if stop.file}

    async def tour(_request: web.Request) -> web.Response:
        return web.json_response([asdict(stop) for stop in every])

    async def file(request: web.Request) -> web.StreamResponse:
        path = files.get(request.match_info["name"])
        if path is None or not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path)

    app.router.add_get("/rehearsal/tour", tour)
    app.router.add_get("/rehearsal/tour/{name}", file)
