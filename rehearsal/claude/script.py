"""Honest script: answers by rules alone, in the requested form.

Pure: equal requests get equal answers. Try "Compare tea, coffee and mate. Think it through."
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

from rehearsal.claude.asked import (
    DEED,
    MESSAGE,
    OPEN_THOUGHT,
    PROBLEM,
    READING,
    ModelRequest,
    PersonText,
    TagSection,
    asked,
    spoken,
)
from rehearsal.claude.deliberating import deliberated
from rehearsal.claude.keepsakes import each_once, facts_in
from rehearsal.claude.lines import ABOUT_YOU, BAD_IDEA, THANKS, chosen, quotable, spoken_line, turned
from rehearsal.claude.long_reading import is_wish, looked_up, read_on, wish
from rehearsal.claude.musing import mused
from rehearsal.claude.phrasing import together
from rehearsal.claude.picking import choice, is_choice
from rehearsal.claude.prompt import Body, last_text
from rehearsal.claude.schema_instances import Schema, instance
from rehearsal.claude.wanted import MENTION, looked_for
from rehearsal.claude.wished import LOOKS

SUMMARY = re.compile(r"\bsummar(y|ies|i[sz]e)\b", re.I)
ABOUT = re.compile(
    r"\b(know|learned|learnt|remember|model) (about|of)\b|\bwhat (kind of )?(person|people)\b", re.I
)
THINK = re.compile(r"\bthink\b.*\b(nobody|no one|by yourself|privately)\b", re.I | re.S)
NOTED = 6
KEPT = 8
"""Notes per person."""


def answer(body: Body) -> str:
    written = mused(body) or read_on(body) or deliberated(body)
    if written:
        return written
    request = asked(body)
    if request.schema:
        return json.dumps(_in_form(request.schema, request, body), ensure_ascii=False)
    if not request.sections:
        return looked_up(body) or _by_itself(request, last_text(body)) or spoken_line(request)
    aloud = spoken(request.sections)
    parts = []
    for section in request.sections:
        content = _aloud(section, request) if section is aloud else _silent(section, request)
        parts.append(f"<{section.name}>{content}</{section.name}>")
    return "\n".join(parts)


def _in_form(schema: Schema, request: ModelRequest, body: Body) -> Any:
    if is_wish(schema):
        return wish(request)
    line = spoken_line(request)
    if is_choice(schema):
        return choice(schema, request, body, line)
    return instance(schema, request, line)


def _aloud(section: TagSection, request: ModelRequest) -> str:
    """Return the public text; "" on the way to open thought."""
    if turned(request) == OPEN_THOUGHT:
        return ""
    return _noted_in(section, request) or spoken_line(request)


def _silent(section: TagSection, request: ModelRequest) -> str:
    return _noted_in(section, request) or _aside(section, request)


def _noted_in(section: TagSection, request: ModelRequest) -> str:
    """Return notes for this section; "" if it wants none."""
    if section.choices:
        return ""
    return _noted(request, f"{section.name}\n{section.about}")


def _by_itself(request: ModelRequest, task: str) -> str:
    """Answer a task set by no person that needs no form; "" for others."""
    if MESSAGE.search(task):
        return ""
    if THINK.search(task):
        return _thought(request)
    return _noted(request, task)


def _thought(request: ModelRequest) -> str:
    said = [f"{_who(request)} wants: “{quotable(MENTION.sub('', request.words).strip())}”"]
    said += [f"I was told before: “{quotable(words)}”" for words in request.told]
    found = [text for name, text in request.found if name in LOOKS]
    wanted = together([f"“{word}”" for word in looked_for(request.words)])
    if found:
        said.append(f"I have found: “{quotable(found[-1])}”")
    elif DEED.search(request.words):
        said.append("That is something to do, and not to look up.")
    elif wanted:
        said.append(f"Nothing of that is my own knowledge, so I look for {wanted}.")
    return " ".join(said)


def _noted(request: ModelRequest, about: str) -> str:
    """Return a summary or facts, if requested; else ""."""
    if SUMMARY.search(about):
        return "\n".join(map(_quoted, request.heard[-NOTED:]))
    if ABOUT.search(about):
        gone = set(chain.from_iterable(map(_facts, request.replaced)))
        before = [f"- {note}" for note in chain.from_iterable(request.notes.values())]
        *earlier, last = _of_whom(request) or [request.last]
        told = list(chain.from_iterable(map(_facts, earlier)))
        lines = [line for line in each_once([*told[-NOTED:], *before, *_facts(last)]) if line not in gone]
        return "\n".join(lines[-KEPT:]) or "Nothing is known yet."
    return ""


def _of_whom(request: ModelRequest) -> list[PersonText]:
    """Return messages of the notes' person; if unclear, all."""
    if len(request.notes) != 1:
        return [*request.heard]
    return [said for said in request.heard if said.name in request.notes] or [PersonText(name="", words="")]


def _facts(said: PersonText) -> list[str]:
    return [_quoted(PersonText(name=said.name, words=fact)) for fact in facts_in(said.words)]


def _quoted(said: PersonText) -> str:
    return f"- {said.name or 'Someone'} said: “{quotable(said.words)}”"


def _who(request: ModelRequest) -> str:
    return request.person or "Someone"


def _aside(section: TagSection, request: ModelRequest) -> str:
    """Fill a private section: a choice, nothing or the rule."""
    named = chosen(section, request)
    if section.may_be_blank:
        return named if named.lower() in request.words.lower() else ""
    return named or _rule(request)


def _rule(request: ModelRequest) -> str:
    who, goes = _who(request), turned(request)
    if goes == READING:
        return f"{who} wants something read. I go by the words of the question."
    if goes == OPEN_THOUGHT:
        return f"{who} wants this worked out. I take it step by step."
    if goes == PROBLEM and DEED.search(request.words):
        return f"{who} wants something done. I find my own way: think, do it if I may, answer."
    if goes == PROBLEM:
        return f"{who} wants something that can be looked up. I find my own way: think, look, answer."
    if ABOUT_YOU.search(request.words):
        return f"{who} wants to know what I am. I say what is true of me."
    if facts_in(request.words):
        return f"{who} tells me something lasting. I keep it for the next time."
    if BAD_IDEA.search(request.words):
        return f"A bad idea, and {who} may know it. A dry word will do."
    if THANKS.search(request.words):
        return f"{who} is content. Nothing more is to be done."
    return f"{who} speaks. A plain answer will do."
