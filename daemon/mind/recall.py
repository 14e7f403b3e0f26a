"""Recall: journal entries to working memory. A pure function of the entries.

Turns begin with it; the console uses it to show again what a model call saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from daemon.entry import Entry
from daemon.memory import CORE, Memory, WorkingMemory, working_memory
from daemon.mind.answer import ALOUD, Answer
from daemon.mind.spoken import spoken
from daemon.mind.steps import SAY

NAME_LENGTH = 40
FENCE = re.compile(r"<(?=[^\w<]*(?:message|context\W?cleared|notes|result))", re.IGNORECASE)
"""Where what somebody wrote would begin or end one of the frames that hold it."""


def remember(entry: Entry) -> Memory:
    """How an entry looks to the model. What people wrote is fenced: it is never the owner's word."""
    match entry.kind:
        case "text":
            sha = entry.key.removeprefix("text:")
            return Memory(role="system", content=entry.body["text"], name=sha, region=CORE, seq=entry.seq)
        case "model-call":
            text = Answer(entry).kept if entry.body["name"] in ALOUD else spoken(entry.body["text"])
            return Memory(role="assistant", content=text, seq=entry.seq)
        case "spoken":
            return Memory(role="assistant", content=f"<{SAY}>{entry.body['text']}</{SAY}>", seq=entry.seq)
        case "perception" | "heard":
            name = entry.body["name"]
            return Memory(role="user", content=_message(entry), name=name, seq=entry.seq)
        case "context-cleared":
            text = f"<context-cleared>\n{fenced(entry.body['text'])}\n</context-cleared>"
            return Memory(role="user", content=text, seq=entry.seq)
        case _:
            return Memory(role="user", content=entry.body["text"], seq=entry.seq)


def recall(kept: Iterable[Entry]) -> tuple[Memory, ...]:
    """What ended turns chose to keep, in the order in which they returned it."""
    return tuple(remember(entry) for entry in kept)


def seen_by(call: Entry, text: Callable[[str], Entry], at: Callable[[int], Entry]) -> WorkingMemory:
    """What a model call saw: its texts by hash, its conversation by seq, and its trailing text."""
    core = [remember(text(sha)) for sha in call.body["texts"]]
    conversation = [remember(at(seq)) for seq in call.body["seqs"]]
    memory = working_memory([*core, *conversation])
    return memory.with_region("instruction", call.body["trailing"])


def listed(names: Iterable[str]) -> str:
    """Names for a sentence, each once: Alice, or Alice and Bob."""
    *most, last = dict.fromkeys(map(plain, names))
    return f"{', '.join(most)} and {last}" if most else last


def plain(name: str) -> str:
    """A name that somebody chose, as it may stand in a sentence of the owner's: short, without a tag."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def fenced(text: str) -> str:
    """What somebody wrote, or what was made of it, so that it cannot pose as anything else."""
    return FENCE.sub("&lt;", text)


def _message(entry: Entry) -> str:
    body = entry.body
    name = plain(body["name"])
    note = f' note="{body["note"]}"' if body.get("note") else ""
    files = "".join(f"\n[file, only its name can be seen: {file}]" for file in body.get("files", ()))
    return f'<message from="{name}"{note}>\n{fenced(body["text"] + files)}\n</message>'
