"""A thread as a tree of causes, for its owner's terminal. Called by `python -m daemon trace`.

What the soul thought stands in it, too: it is for nobody but the owner.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from daemon.entry import Entry
from daemon.journal.reading import Reading

LINK = re.compile(r"/archives/([A-Z0-9]+)/p([0-9]+)([0-9]{6})$")
PLACE = re.compile(r"([A-Z0-9]+):([0-9]+\.[0-9]+)$")
LATEST = 10
"""How many threads are named to who asks for one that is not there."""
DEEPEST = 12
"""Levels that are indented: an outage goes on for many."""


def find(reading: Reading, asked: str) -> Entry:
    """The `thread` entry of what is meant: an id or its beginning, a link of Slack's, or `C…:ts`.

    Raises LookupError, which names the latest threads.
    """
    threads = reading.kind("thread")
    if place := _place(asked):
        found = [one for one in threads if _holds(reading, one, *place)]
    else:
        found = [one for one in threads if asked and one.thread.startswith(asked)]
        found = [one for one in found if one.thread == asked] or found
    if len(found) == 1:
        return found[0]
    said = f"{len(found)} threads begin with {plain(asked)}:" if found else f"No thread is {plain(asked)}."
    listed = [_titled(one) for one in (found or threads)[-LATEST:]]
    raise LookupError("\n".join([said, *listed] if listed else [said, "The journal holds none yet."]))


def trace(reading: Reading, opened: Entry, width: int) -> Iterator[str]:
    """The lines of its tree, none longer than `width`; what causes something stands above it."""
    entries = reading.of(opened.thread)
    calls = [entry for entry in entries if entry.kind == "model-call"]
    spent = sum(call.body["cost"] for call in calls)
    yield f"{_titled(opened)}, {len(entries)} entries, {len(calls)} calls, ${spent:.4f}"
    for depth, entry in _tree(entries):
        if entry.kind != "thread":
            indent = "  " * min(depth, DEEPEST)
            line = f"{entry.seq:>7}  {_time(entry)}  {indent}{entry.kind}  {plain(told(entry))}".rstrip()
            yield line if len(line) <= width else f"{line[: width - 1]}…"


def told(entry: Entry) -> str:
    """What an entry says, in a line."""
    body = entry.body
    match entry.kind:
        case "perception" | "heard" if "text" in body:
            return f"{body.get('name') or entry.author}: {body['text']}"
        case "turn-began":
            return f"{body['process']}, over {', '.join(map(str, body['took']))}"
        case "turn-ended":
            return str(body["outcome"])
        case "model-call":
            return _called(entry)
        case "action":
            return f"{body['name']} {json.dumps(body.get('args', {}), ensure_ascii=False)}"
        case "claim":
            return entry.key
        case "watch":
            return f"until {datetime.fromtimestamp(body['due'], UTC):%m-%d %H:%M:%S}"
        case _:
            return str(body.get("text") or ", ".join(f"{name} {value}" for name, value in body.items()))


def _called(call: Entry) -> str:
    body, usage = call.body, call.body["usage"]
    read = usage["input"] + usage["cache_read"] + usage["cache_write"]
    came = body["outcome"] + (f" ({body['failure']})" if body["failure"] else "")
    return (
        f"{body['name']} by {body['model']}, {came}, {read} + {usage['output']} tokens, "
        f"${body['cost']:.4f}, {body['seconds']:.1f} s: {body['text']}"
    )


def _tree(entries: Sequence[Entry]) -> Iterator[tuple[int, Entry]]:
    """Each entry with its depth, directly below its cause; what the thread itself caused stands leftmost."""
    here = {entry.seq for entry in entries if entry.kind != "thread"}
    caused: defaultdict[int | None, list[Entry]] = defaultdict(list)
    for entry in entries:
        caused[entry.cause if entry.cause in here else None].append(entry)
    waiting = [(0, entry) for entry in reversed(caused[None])]
    while waiting:
        depth, entry = waiting.pop()
        yield depth, entry
        waiting.extend((depth + 1, child) for child in reversed(caused[entry.seq]))


def _place(asked: str) -> tuple[str, str] | None:
    """The channel and the ts that are meant; of a link to a reply, those of its root."""
    if found := PLACE.match(asked):
        return found[1], found[2]
    link = urlsplit(asked)
    if found := LINK.search(link.path):
        return found[1], parse_qs(link.query).get("thread_ts", [f"{found[2]}.{found[3]}"])[0]
    return None


def _holds(reading: Reading, opened: Entry, channel: str, ts: str) -> bool:
    """Is the message of this ts in this thread, or its root?"""
    if opened.body["channel"] != channel:
        return False
    said = reading.of(opened.thread, "perception", "heard", "spoken") if opened.body["ts"] != ts else []
    return opened.body["ts"] == ts or any(entry.body.get("ts") == ts for entry in said)


def _titled(opened: Entry) -> str:
    body = opened.body
    where = plain(str(body.get("place") or body["channel"]))
    return f"{opened.thread}  {body['channel']}:{body['ts']}  {where}, since {_time(opened)} UTC"


def _time(entry: Entry) -> str:
    return f"{datetime.fromtimestamp(entry.at, UTC):%m-%d %H:%M:%S}"


def plain(text: str) -> str:
    """The text on one line, and nothing in it that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
