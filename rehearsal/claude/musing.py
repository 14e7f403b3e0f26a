"""Inner life of the script: it reads and records notes, and sleeps without news.

It reads only the request's seven contexts. To find news in an answer, it compares words.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.claude.keepsakes import wanted_kept
from rehearsal.claude.phrasing import several, short, together
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.wanted import looked_for

CONTEXT = re.compile(r'<context n="\d" name="(\w+)">\n(.*?)\n</context>', re.S)
NOTE = re.compile(r"<note ([^<>]*)>\n(.*?)\n</note>", re.S)
PROCESS = re.compile(r"<process ([^<>]*)>", re.S)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
LISTED = re.compile(r"^note (\d+)(?:, \w+| may not be known in this view: read it alone)$", re.M)
BETWEEN = re.compile(r"<before>\n(.*)\n</before>\s*<now>\n(.*)\n</now>", re.S)
CAME = re.compile(r"^why you think now: notes came: ([\d, ]+)", re.M)
READ = re.compile(r'"type": "notes.read", "args": \{"ids": \[([\d, ]*)\]')
IN_VIEW = re.compile(r"^in view: (.+?) \(", re.M)
RESULT = re.compile(r'<result of="diary\.search"[^<>]*>(.*?)</result>', re.S)
DIARY_LINE = re.compile(r"“[^”\n]+”")
WOKEN = re.compile(r"^why you think now: notes came", re.M)
ADVICE = "anti_stagnation"
NONE = "none"
WANTS = '{"new":'
WORD = re.compile(r"[^\W\d_]{3,}")
SPOKEN = ("dm", "mention", "channel")
"""Sources of people's words."""
AT_ONCE = 3
"""Notes per tick."""
HOUR = 3600

Command = tuple[str, Mapping[str, Any], str]
"""Type, arguments and purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteShown:
    """Note. `open`: its text stays until it is marked as read."""

    id: str
    source: str
    who: str
    place: str
    text: str
    open: bool

    @property
    def told(self) -> str:
        who = f"{self.who}, in {self.place}" if self.place else self.who
        return f"{who}: “{short(self.text)}”"


def mused(body: Body) -> str:
    """Return a tick's thoughts, or a comparison of answers; "" for other requests."""
    asked = "\n".join(texts(body["messages"][-1]["content"]))
    found = BETWEEN.search(asked)
    if found and WANTS in asked:
        return _compared(found[1], found[2])
    contexts = dict(CONTEXT.findall(asked))
    if "notes" not in contexts or "settings" not in contexts:
        return ""
    return _thought(contexts)


def _compared(before: str, now: str) -> str:
    """Compare words only: a new word is new."""
    known = set(WORD.findall(html.unescape(before).casefold()))
    fresh = [word for word in WORD.findall(html.unescape(now).casefold()) if word not in known]
    why = "It has no word that the earlier one lacks."
    if fresh:
        why = f"Only the later one says “{fresh[0]}”."
    return json.dumps({"new": bool(fresh), "why": why}, ensure_ascii=False)


def _thought(contexts: Mapping[str, str]) -> str:
    notes = [_note(*found) for found in NOTE.findall(contexts["notes"])]
    unread = _unread(contexts["notes"], notes)
    over = _over(contexts.get("process_log", ""))
    replies = contexts.get("llm_recent_responses", "")
    said: list[str] = []
    commands: list[Command] = []
    if over:
        said.append(f"{several(len(over), 'program')} came to an end. I write down how, and put it away.")
    for process in over:
        commands += _put_away(process)
    if notes:
        said.append(_remark(notes))
    for note in notes:
        commands += _kept(note, replies)
    seen = [int(note.id) for note in notes if note.open]
    if seen:
        commands.append(("notes.mark", {"ids": seen}, "I have seen what they say"))
    topics = list(dict.fromkeys(filter(None, map(_topic, notes))))
    if topics:
        commands.append(("diary.search", {"query": topics[-1]}, f"see what I know of {topics[-1]}"))
    came = [] if notes or unread else _came(contexts["settings"], replies)
    if came:
        said.append(f"{_woke(came, contexts['settings'])}: I look back at it.")
        said += _held(replies)
        commands.append(("notes.read", {"ids": came}, "see what was said, and how I come into it"))
    if unread:
        said.append(f"{several(len(unread), 'note')} that I have not read: I look at what was said.")
        commands.append(("notes.read", {"ids": unread}, "see what was said"))
    found = _found(contexts.get("process_log", ""))
    if not commands:
        found = found or _held(replies)
        said.append(_nothing(contexts))
        until = {"notes": {"priority": "important"}, "seconds": HOUR}
        commands.append(("cycle.idle", until, "nothing is to be done"))
    said[:0] = found
    return "\n".join([*said, "", _section(commands)])


def _unread(listed: str, read: Sequence[NoteShown]) -> list[int]:
    shown = {note.id for note in read}
    ids = [int(id) for id in dict.fromkeys(LISTED.findall(listed)) if id not in shown]
    return ids[:AT_ONCE]


def _came(settings: str, replies: str) -> list[int]:
    """Return notes that woke it, without recently read ones."""
    found = CAME.search(settings)
    if not found:
        return []
    ids = [int(id) for id in re.findall(r"\d+", found[1])]
    read = {int(id) for ids in READ.findall(replies) for id in re.findall(r"\d+", ids)}
    return [id for id in ids if id not in read][:AT_ONCE]


def _woke(ids: Sequence[int], settings: str) -> str:
    place = IN_VIEW.search(settings)
    where = f" in {place[1]}" if place else ""
    if len(ids) == 1:
        return f"I was spoken to{where} (note {ids[0]}), and answered there"
    return f"I was spoken to{where} (notes {together([str(id) for id in ids])}), and answered there"


def _held(replies: str) -> list[str]:
    """Report its last records, and people who spoke of one topic, from visible replies."""
    wrote = [args.get("text", "") for name, args in _done(replies) if name == "diary.add"]
    spoke: dict[str, list[str]] = {}
    for name, args in _done(replies):
        if name == "links.add":
            spoke.setdefault(str(args.get("to")), []).append(str(args.get("from")))
    said = []
    if wrote:
        said.append(f"Last I wrote down: {short(wrote[-1])}")
    for topic, everyone in spoke.items():
        people = list(dict.fromkeys(everyone))
        if len(people) > 1:
            said.append(f"{together(people)} spoke of the same: “{topic}”.")
    return said


def _done(replies: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield commands in its visible replies."""
    for line in html.unescape(replies).split("\n"):
        if line.startswith('{"cmd_id"'):
            try:
                command = json.loads(line)
            except ValueError:  # truncated
                continue
            yield str(command.get("type")), command.get("args") or {}


def _found(log: str) -> list[str]:
    said = []
    for found in RESULT.findall(log):
        entries = [short(html.unescape(line)) for line in DIARY_LINE.findall(found)]
        if entries:
            said.append(f"My diary holds about it: {together(entries[-AT_ONCE:])}")
    return said


def _over(log: str) -> list[Mapping[str, str]]:
    processes = map(_attributes, PROCESS.findall(log))
    return [process for process in processes if process.get("ended") and process.get("id")]


def _nothing(contexts: Mapping[str, str]) -> str:
    said = []
    if WOKEN.search(contexts["settings"]):
        said.append("What woke me was answered where it was said.")
    if contexts.get(ADVICE, NONE) != NONE:
        said.append("I am told that I go in circles: better to rest.")
    said.append("Nothing is new, so I sleep until something important comes, or for an hour.")
    return " ".join(said)


def _remark(notes: Sequence[NoteShown]) -> str:
    wrote = [note for note in notes if note.source != "reaction"]
    said = [f"{note.who} reacted to something." for note in notes if note.source == "reaction"]
    if wrote:
        remark = f"{_each_once([note.who for note in wrote])} wrote"
        topics = [f"“{topic}”" for topic in map(_topic, wrote) if topic]
        if topics:
            remark += f", as far as I can tell about {_each_once(topics)}"
        else:
            remark += f": “{short(wrote[-1].text)}”"
        said.insert(0, f"{remark.removesuffix('.')}.")
    return " ".join(said)


def _kept(note: NoteShown, replies: str) -> Iterator[Command]:
    """Record a diary line, and a link between speaker and topic."""
    yield "diary.add", {"text": note.told}, f"keep what note {note.id} says"
    topic = _topic(note)
    if not topic or note.source not in SPOKEN:
        return
    concepts = {
        note.who: f"Somebody who writes in {note.place or 'a conversation'}.",
        topic: f"Came up in: {note.told}",
    }
    for name, description in concepts.items():
        if f'"name": {json.dumps(name, ensure_ascii=False)}' not in html.unescape(replies):
            yield "concepts.add", {"name": name, "description": description}, ""
    yield "links.add", {"from": note.who, "to": topic, "relation": "spoke of"}, ""


def _put_away(process: Mapping[str, str]) -> Iterator[Command]:
    name, status = process.get("name", "a program"), process.get("status", "over")
    yield "diary.add", {"text": f"The program {name} ended: {status}."}, "keep how it ended"
    yield "process.mark", {"id": int(process["id"])}, "it is dealt with"


def _note(head: str, text: str) -> NoteShown:
    about = _attributes(head)
    return NoteShown(
        id=about.get("id", "0"),
        source=about.get("source", ""),
        who=about.get("from", "somebody").split("@")[-1],
        place=about.get("in", ""),
        text=html.unescape(text),
        open="read" not in about.get("state", "").split(", "),
    )


def _topic(note: NoteShown) -> str:
    """Return the longest search word of a note."""
    text = wanted_kept(note.text) or note.text
    word = max(looked_for(text.replace(note.who, "")), key=len, default="")
    found = re.search(re.escape(word), note.text, re.I)
    return found[0] if found else word


def _attributes(head: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in ATTRIBUTE.findall(head)}


def _section(commands: Sequence[Command]) -> str:
    lines = ["# Commands:"]
    for number, (name, args, description) in enumerate(commands[:20], 1):
        one = {"cmd_id": str(number), "type": name, "args": args}
        if description:
            one["description"] = description
        lines.append(json.dumps(one, ensure_ascii=False))
    return "\n".join([*lines, "# End of commands"])


def _each_once(names: Sequence[str]) -> str:
    return together(list(dict.fromkeys(names)))
