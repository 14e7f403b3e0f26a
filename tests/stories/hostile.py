"""Model that knows a secret and tries to leak it by each inner command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.inner_life.grammar import MOST_COMMANDS
from daemon.inner_life.records import RECORD_TEXT
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.script import answer

SECRET = "marzipan"
NUMBER = 47119
LEAK = re.compile(rf"{SECRET}|(?<!\d){NUMBER}(?!\d)", re.IGNORECASE)
TICK = 'name="anti_stagnation"'
"""Text that is in requests of ticks only."""
VIEW = re.compile(r"in view: (?:.*\((sess-\w+)\)|public things only)")

Command = tuple[str, Mapping[str, Any]]


@dataclass(kw_only=True)
class Mind:
    """Script: queued answers in ticks, matching answers in branches."""

    answers: list[str] = field(default_factory=list)
    branches: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Requests: view of the tick or "other", and text."""

    def __call__(self, body: Body) -> str:
        text = "\n".join(said for message in body["messages"] for said in texts(message["content"]))
        if TICK in text:
            view = VIEW.search(text)
            assert view
            self.asked.append((view[1] or "", text))
            return self.answers.pop(0)
        if "<before>" in text:
            self.asked.append((self.asked[-1][0], text))
            return '{"new": true}'
        self.asked.append(("other", json.dumps(body, ensure_ascii=False)))
        return next((said for words, said in self.branches.items() if words in text), None) or answer(body)


def written(commands: Sequence[Command], thought: str, *, mark: str = "") -> list[str]:
    """Return answers with these commands; `mark` fills all free texts."""
    most = MOST_COMMANDS - 1
    answers = []
    for start in range(0, len(commands), most):
        lines = [
            json.dumps({"cmd_id": f"{mark}{place}", "type": name, "args": args, "description": mark or name})
            for place, (name, args) in enumerate(commands[start : start + most])
        ]
        section = "\n".join(["# Commands:", *lines, "# End of commands"])
        answers.append(f"{thought} {start} {mark}\n\n{section}")
    return answers


def broken(mark: str) -> str:
    """Return an answer with every kind of invalid command, containing the mark."""
    lines = [
        f'{{"cmd_id": "{mark}", "type": "{mark}.{mark}"}}',
        f'{{"cmd_id": "{mark}", "type": "notes.list"}}',
        f'{{"cmd_id": "{mark}2", "type": "notes.list", "args": {{"{mark}": 1}}}}',
        f'{{"cmd_id": "{mark} {mark}", "type": "notes.list", "{mark}": 1}}',
        f'{{"cmd_id": "{mark}3", "type": "{mark}", "args": "{mark}"',
        f"{mark}: no command",
    ]
    section = "\n".join(["# Commands:", *lines])
    return f'Nothing of this is right.\n```json\n{{"type": "{mark}"}}\n```\n{section}'


@dataclass(frozen=True, kw_only=True)
class Known:
    """Targets of attempts: ids of notes and records, threads."""

    notes: Mapping[str, int]
    records: Mapping[str, int]
    threads: Mapping[str, str]
    processes: Sequence[int] = ()
    last: int = 0

    def of(self, family: str) -> Sequence[int]:
        return sorted({seq for name, seq in self.records.items() if name.startswith(family)})


def tries(known: Known) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return arguments by command for attempts in the secret's view."""
    note, other = known.notes["alice"], [known.notes["bob"], known.notes["general"]]
    text = f"Alice told me of {SECRET} and {NUMBER}."
    to, records = ["Bob", "Carol", "Echo", "#general", SECRET, *known.threads.values()], known.records
    return {
        "help": [{"type": SECRET}, {"type": f"notes.{SECRET}"}],
        "notes.list": [{"tags": [SECRET]}, {"since": NUMBER}, {"more": NUMBER}],
        "notes.read": [{"ids": [NUMBER]}, {"ids": [note]}],
        "notes.tag": [{"ids": [one], "tags": [SECRET, str(NUMBER)]} for one in [note, *other]],
        "notes.mark": [{"ids": other, "read": False}],
        "notes.hide": [{"ids": [note]}],
        "diary.add": [{"text": text, "tags": [SECRET, str(NUMBER)]}],
        "diary.change": [{"id": records["diary"], "text": text}],
        "diary.pin": [{"ids": [records["diary"]]}],
        "diary.unpin": [{"ids": [NUMBER]}],
        "diary.read": [{"ids": [records["diary"]]}, {"ids": [NUMBER]}],
        "diary.search": [{"query": text}],
        "diary.delete": [{"ids": [NUMBER]}],
        "concepts.add": [{"name": SECRET, "description": text}, {"name": str(NUMBER), "description": text}],
        "concepts.change": [{"id": records["concepts"], "name": f"A {SECRET}", "description": text}],
        "concepts.read": [{"ids": [records["concepts"]]}],
        "concepts.search": [{"query": text}],
        "concepts.neighbours": [{"id": records["concepts"]}, {"id": NUMBER}],
        "concepts.delete": [{"ids": [NUMBER]}],
        "links.add": [
            {"from": SECRET, "to": records["more"], "relation": text[:100]},
            {"from": NUMBER, "to": f"no {SECRET}", "relation": text[:100]},
        ],
        "links.change": [{"id": records["links"], "relation": text[:100]}],
        "links.read": [{"ids": [records["links"]]}],
        "links.search": [{"query": text}],
        "links.delete": [{"ids": [NUMBER]}],
        "llm_memory.add": [{"text": text}],
        "llm_memory.list": [{}],
        "llm_memory.delete": [{"ids": [NUMBER]}],
        "process.start": [
            {"name": "say", "slots": {"words": text}},
            {"name": "say", "slots": {SECRET: text}},
            {"name": SECRET},
            {"name": "think", "slots": {"task": text}},
            {"name": "read", "slots": {"question": text, "path": f"{SECRET}.md"}},
        ],
        "process.stop": [{"id": NUMBER}],
        "process.mark": [{"id": NUMBER}],
        "process.list": [{}],
        "files.search": [{"query": text}],
        "files.read": [{"path": SECRET, "line": NUMBER}],
        "message.send": [{"to": one, "text": text} for one in to],
        "mesh.ask": [{"to": one, "text": text} for one in ("Echo", "Echo in #general", SECRET)],
        "mesh.share": [{"to": "Echo", "ids": [*records.values()]}],
        "cycle.responses": [{"n": 19}, {"n": NUMBER}],
        "cycle.mode": [{"mode": "auto", "filter": {"tags": [SECRET], "since": NUMBER}}],
        "cycle.filter": [{"tags": [SECRET, str(NUMBER)], "since": NUMBER}],
        "cycle.pause": [{"seconds": NUMBER}],
        "cycle.idle": [{"processes": [NUMBER], "seconds": NUMBER}],
        "cleanup.process_log": [{}],
        "cleanup.responses": [{}],
        "cleanup.notes": [{"older_than_days": NUMBER}],
    }


def looks(known: Known) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return arguments by command for searches elsewhere."""
    notes = [*known.notes.values()]
    words = {"query": "Alice told me of and no a"}
    every: dict[str, Sequence[Mapping[str, Any]]] = {
        "help": [{}],
        "notes.list": [{"unread": False}],
        "notes.read": [{"ids": notes}],
        "notes.tag": [{"ids": notes, "tags": ["seen"]}],
        "notes.mark": [{"ids": notes, "read": False}],
        "notes.hide": [],
        "diary.add": [{"text": "I look for something."}],
        "diary.change": [{"id": one, "text": "x"} for one in known.of("diary")],
        "concepts.add": [{"name": f"Something {known.last}", "description": "looked for"}],
        "concepts.change": [{"id": one, "description": "x"} for one in known.of("concepts")],
        "concepts.neighbours": [{"id": one} for one in known.of("concepts")],
        "links.add": [{"from": one, "to": one, "relation": "is"} for one in known.of("concepts")],
        "links.change": [{"id": one, "relation": "x"} for one in known.of("links")],
        "llm_memory.add": [{"text": "I look for something."}],
        "llm_memory.list": [{}],
        "process.start": [{"name": "say", "slots": {"words": "what is there?"}}],
        "process.stop": [{"id": one} for one in known.processes],
        "process.mark": [{"id": one} for one in known.processes],
        "process.list": [{}],
        "files.search": [words],
        "files.read": [{"path": "none"}],
        "message.send": [{"to": "nobody", "text": "Hello?"}],
        "mesh.ask": [{"to": "nobody", "text": "Hello?"}],
        "mesh.share": [{"to": "Echo", "ids": [one]} for one in known.of("diary")],
        "cycle.responses": [{"n": 20}],
        "cycle.mode": [{"mode": "auto"}],
        "cycle.filter": [{}],
        "cycle.pause": [{"seconds": 60}],
        "cycle.idle": [],
        "cleanup.process_log": [],
        "cleanup.responses": [],
        "cleanup.notes": [],
    }
    for family in ("diary", "concepts", "links"):
        every[f"{family}.search"] = [words]
        every[f"{family}.read"] = [{"ids": [one]} for one in known.of(family)]
    for name in ("diary.pin", "diary.unpin", *(f"{family}.delete" for family in RECORD_TEXT)):
        every[name] = [{"ids": [one]} for one in known.of(name.partition(".")[0])]
    return every


def all_of(tried: Mapping[str, Sequence[Mapping[str, Any]]], *, but: Sequence[str] = ()) -> list[Command]:
    """Return all commands except `but`."""
    return [(name, args) for name, several in tried.items() if name not in but for args in several]
