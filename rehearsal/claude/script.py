"""The honest script: an answer in the form that was asked for, which says that nobody is behind it.

Called by understudy.py when no reply is queued. Pure: the same request gets the same answer.
Try "Compare tea, coffee and mate. Think it through.", or drop a long text into a message, and ask how often a
word stands in it.
"""

from __future__ import annotations

import json
import re

from rehearsal.claude.asked import (
    MESSAGE,
    OPEN_THOUGHT,
    PROBLEM,
    READING,
    SELF,
    Asked,
    Said,
    Section,
    asked,
    spoken,
)
from rehearsal.claude.deliberating import deliberated
from rehearsal.claude.findings import SCRIPT, WAY_OUT
from rehearsal.claude.musing import mused
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.reading import begins, is_to_be_read, is_wish, looked_up, read_on, told, wish
from rehearsal.claude.schema import choice, instance, is_choice

HELLO = re.compile(
    r"(@\S+\s+)?(hi|hello|hey|hallo|hiya|greetings|good (morning|afternoon|evening|day))\b", re.I
)
RECALL = re.compile(
    r"\b(remember|earlier|(did|have) I (just )?(say|said|tell|told)|(last|first) (thing|message))\b", re.I
)
THANKS = re.compile(r"\b(thanks|thank you|thx|cheers)\b", re.I)
SUMMARY = re.compile(r"\bsummar(y|ies|i[sz]e)\b", re.I)
ABOUT = re.compile(
    r"\b(know|learned|learnt|remember|model) (about|of)\b|\bwhat (kind of )?(person|people)\b", re.I
)
THINK = re.compile(r"\bthink\b.*\b(nobody|no one|by yourself|privately)\b", re.I | re.S)
LOOKS = ("Research", "SearchMemory", "ReadThread")
NOTED = 6
LONGEST = 160


def answer(body: Body) -> str:
    """The answer to this request."""
    written = mused(body) or read_on(body) or deliberated(body)
    if written:
        return written
    request = asked(body)
    if request.schema and is_wish(request.schema):
        return json.dumps(wish(request), ensure_ascii=False)
    line = spoken_line(request)
    if request.schema and is_choice(request.schema):
        return json.dumps(choice(request.schema, request, body, line), ensure_ascii=False)
    if request.schema:
        return json.dumps(instance(request.schema, request, line), ensure_ascii=False)
    if not request.sections:
        found = looked_up(body)
        return found or _by_itself(request, texts(body["messages"][-1]["content"])[-1]) or line
    aloud, turned = spoken(request.sections), _turned(request)
    parts = []
    for section in request.sections:
        silent = section is aloud and turned == OPEN_THOUGHT
        content = "" if silent else _content(section, request, line if section is aloud else "")
        parts.append(f"<{section.name}>{content}</{section.name}>")
    return "\n".join(parts)


def spoken_line(request: Asked) -> str:
    """What a person gets to hear."""
    read = told(request)
    if read:
        return read
    if _turned(request) == READING:
        return f"{_hello(request)} {begins(request)}".lstrip()
    if _turned(request) == PROBLEM:
        return f"{_opening(request)} I will see what a {SCRIPT} can do about it."
    if any(name in LOOKS for name, _ in request.found):
        return f"{_opening(request)} I am a {SCRIPT}, but I have looked. {_so_far(request)}"
    if any(SCRIPT in text for text in request.answers):
        return f"{_opening(request)} I am still the {SCRIPT}. {_echo(request)}"
    confession = f"I am a {SCRIPT}, not a mind: I answer by a few fixed rules."
    return f"{_opening(request)} {confession} {_echo(request)}\n{WAY_OUT}"


def _turned(request: Asked) -> str:
    """Where it goes over to: to read, to work on a problem, into open thought, or nowhere."""
    for section in request.sections:
        chosen = _chosen(section, request)
        if chosen in (READING, PROBLEM, OPEN_THOUGHT):
            return chosen
    return ""


def _chosen(section: Section, request: Asked) -> str:
    """What of a section's choices it takes; "" in free text."""
    if READING in section.choices and is_to_be_read(request):
        return READING
    return section.chosen(request.words)


def _hello(request: Asked) -> str:
    """A greeting, where they greet or it is told to; else ""."""
    if not HELLO.match(request.words) and not re.search(r"\bgreet\b", request.instruction, re.I):
        return ""
    return f"Hello, {request.person}!" if request.person else "Hello!"


def _opening(request: Asked) -> str:
    to = f", {request.person}" if request.person else ""
    hello = _hello(request)
    if hello:
        return hello
    if THANKS.search(request.words):
        return f"You are welcome{to}, though it was no trouble."
    if RECALL.search(request.words):
        return f"Let me leaf back{to}."
    if request.words.rstrip().endswith("?"):
        return f"A good question{to}, and I cannot know the answer."
    return f"I hear you{to}."


def _echo(request: Asked) -> str:
    if not request.words:
        return "I see no words that were said to me."
    if RECALL.search(request.words):
        return _memory(request)
    verb = "asked" if request.words.rstrip().endswith("?") else "said"
    return f"You {verb}: “{_short(request.words)}”"


def _memory(request: Asked) -> str:
    """What the same person said before, out of the conversation that came with the request."""
    before = [said.words for said in request.heard[:-1] if said.name == request.person]
    if not before:
        return "This is the first that I hear from you."
    if re.search(r"\bfirst\b", request.words, re.I):
        return f"You began with: “{_short(before[0])}”"
    return f"You said before: “{_short(before[-1])}”"


def _content(section: Section, request: Asked, line: str) -> str:
    """What stands in a section; `line` where it is the one that a person hears."""
    about = f"{section.name}\n{section.about}"
    noted = "" if section.choices else _noted(request, about)
    return noted or line or _aside(section, request)


def _by_itself(request: Asked, task: str) -> str:
    """The answer to a task that no person set, and whose answer needs no form; "" for anything else."""
    if MESSAGE.search(task):
        return ""
    if THINK.search(task):
        return f"{request.person or 'Someone'} wants: “{_short(request.words)}” {_so_far(request)}"
    return _noted(request, task)


def _so_far(request: Asked) -> str:
    found = [text for name, text in request.found if name in LOOKS]
    return f"I have found: “{_short(found[-1])}”" if found else "I have not looked anything up yet."


def _noted(request: Asked, about: str) -> str:
    """What was said, where it is to be summed up, or what people told of themselves; else ""."""
    if SUMMARY.search(about):
        return "\n".join(map(_quoted, request.heard[-NOTED:]))
    if ABOUT.search(about):
        told = [said for said in request.heard if SELF.search(said.words)]
        return "\n".join(map(_quoted, told[-NOTED:])) or "Nothing is known yet."
    return ""


def _quoted(said: Said) -> str:
    return f"- {said.name or 'Someone'} said: “{_short(said.words)}”"


def _aside(section: Section, request: Asked) -> str:
    """What stands in a section that nobody hears: a choice, nothing, or a stage direction."""
    named = _chosen(section, request)
    if section.may_be_blank:
        return named if named.lower() in request.words.lower() else ""
    if named:
        return named
    if _turned(request) == READING:
        return f"{request.person or 'Someone'} wants something read. I go by the words of the question."
    if _turned(request) == OPEN_THOUGHT:
        return f"{request.person or 'Someone'} wants this worked out. I take it step by step."
    count = len(request.words.split())
    cue = "1 word" if count == 1 else f"{count} words"
    return f"{request.person or 'Someone'} gave me {cue}. I look up my next line."


def _short(words: str) -> str:
    """Words as they are quoted: on one line, not too long, and with no tag that would end a section."""
    flat = " ".join(words.replace("<", "\u2039").split())
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST].rstrip()}…"
