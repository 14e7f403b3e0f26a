"""What the understudy is told to do with a request, instead of following its script."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from daemon.rehearsal.claude.prompt import Body, texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One reply to come, for a request to `model` (a pattern) whose last text or schema holds `asks`.

    `text` None is the script's own; `delay` seconds and `until` hold it back, after `first` characters of it.

    `ending` says how it goes on after the text: to its end, into a refusal, into an error of `kind`,
    or the connection breaks (`cut`) or just ends (`hush`). `status` is what HTTP says, with the seconds
    of a Retry-After in `after`, and `said` the error; with 200 it comes inside the stream. Faults
    besides: of the text only the first `most` characters, a halt after `stall` of them, `pace` seconds
    between two pieces, `bare` of its tags.
    """

    text: str | None = None
    delay: float = 0.0
    chunk: int | None = None
    until: asyncio.Event | None = None
    first: int = 0
    model: str = "*"
    asks: str = ""
    ending: Literal["end", "refusal", "error", "cut", "hush"] = "end"
    status: int = 200
    kind: str = ""
    said: str = "Rehearsed failure"
    after: float = 0.0
    most: int | None = None
    stall: int | None = None
    pace: float = 0.0
    bare: bool = False

    def fits(self, body: Body) -> bool:
        """Whether it answers this request."""
        if not fnmatchcase(str(body["model"]), self.model):
            return False
        last = texts(body["messages"][-1]["content"])[-1:]
        return self.asks in "\n".join([*last, json.dumps(body.get("output_config"))])
