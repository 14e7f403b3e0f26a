"""Deep reading by the script: it writes one cell and reports its output.

It searches for the question's words only, and says so; all input is in the request.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.claude.asked import MESSAGE, ModelRequest
from rehearsal.claude.phrasing import untagged
from rehearsal.claude.prompt import Body, last_text, texts
from rehearsal.claude.report import findings
from rehearsal.claude.survey import cell, survey
from rehearsal.claude.task import task_of
from rehearsal.claude.wanted import FILE, MENTION, looked_for

ACTION = "ReadDeeply"
UNNAMED = re.compile(r'\[context:\d+ ("[^"\n]*")\]')
TOLD = re.compile(r"\b(without|no) code\b|\bno more room\b", re.I)
"""Asks for a plain answer without code."""
OBSERVED = re.compile(r"<observation>\n(.*)\n</observation>\s*", re.S)
HEADER = re.compile(
    r"""\A(?:(\S{1,80}):\n | ([^\n:]{1,80}):\n(?=\[https?://))
    | (?:\A|(?<=\n\n))([^\s:][^\n:]{0,200}\.\w{1,8}(?:[ ]\(\d+\))?):\n""",
    re.X,
)
"""Line with a part's name."""
NUMBER = re.compile("^\\d+\u2502 ?", re.M)
"""Line number in a text read at once."""
PLACE = re.compile(
    r"\b(?:this|the|our|all|whole|entire|dieser?|dem|den|im)\s+(?:thread|channel|kanal)\b|(?<!\S)#[a-z][\w-]+",
    re.I,
)
CHANNEL = re.compile(r"(?<!\S)#[a-z][\w-]+")
READS = re.compile(
    r"""^\W*(?:and|und|what\s+about|was\s+ist\s+mit)\b | ["“”„«»]
    | \b(?:read|search|look\s+(?:through|in)|go\s+(?:through|over)|leaf|summar\w+|mention\w*|occur\w*
    |appear\w*|how\s+(?:often|many)|count|says?|said|contains?|lies|such|zähle?|wie\s+(?:oft|viele)|steht|erwähn\w*)\b""",
    re.I | re.X,
)
BROUGHT = re.compile(r":\s*\S|\n")
"""Text included in the message."""
SHARED = re.compile(r"\b(?:files?|documents?|attachments?|datei(?:en)?|dokumente?)\b", re.I)
DAYS = re.compile(r"\b(\d{1,3})\s+(?:days?|tagen?)\b", re.I)
SPANS = (
    (r"\btoday|\bheute", 1),
    (r"\byesterday|\bgestern", 2),
    (r"\bmonth|\bmonat", 31),
    (r"\byear|\bjahr", 366),
)
WEEK = 7
FAILED = "My program did not come to its end. It said: "
NOTHING = "I have not looked at anything yet, and know nothing of it without looking."
BEGINS = "I am reading it, and go by the words of your question."


def read_on(body: Body) -> str:
    """Return the next answer in a reading; "" for other requests."""
    first = (texts(body["messages"][0]["content"]) or [""])[0]
    if first.startswith("<question>\n") and "\n</shape>" in first:
        return _round(body, _within("question", first))
    if len(body["messages"]) == 1 and first.rstrip().endswith("\n</question>"):
        text, question = _within("text", first), _within("question", first)
        text = NUMBER.sub("", text)
        if text:
            return _plainly(_parts(text), question)
    return ""


def looked_up(body: Body) -> str:
    """Answer a cell's question with its text; "" for other requests."""
    every = texts(body["messages"][0]["content"])
    if body.get("system") or len(body["messages"]) > 1 or len(every) != 1 or MESSAGE.search(every[0]):
        return ""
    lines = [line for line in every[0].split("\n") if line.strip()]
    if len(lines) < 2:
        return ""
    question = lines[0]
    if lines[-1].rstrip().endswith("?") and not question.rstrip().endswith("?"):
        question = lines[-1]
    context = "\n".join([line for line in lines if line != question])
    return UNNAMED.sub(r"\1", _plainly({"context": context}, question))


def is_to_be_read(asked: ModelRequest) -> bool:
    """True if people want a shared file, thread or channel read.

    Without a name, the last answer's file is meant.
    """
    if FILE.search(asked.words):
        return True
    spoken = MENTION.sub("", asked.words).strip()
    wants = READS.search(spoken) is not None
    if wants and PLACE.search(spoken):
        return True
    names = _shared(asked)
    if not names or BROUGHT.search(spoken):
        return False
    if _name_one_of(names, spoken) or SHARED.search(spoken):
        return wants or spoken.endswith("?")
    last_answer = "".join(asked.answers[-1:])
    return wants and _name_one_of(names, last_answer) and task_of(spoken) is None


def is_wish(schema: Mapping[str, Any]) -> bool:
    """True if this schema selects texts to read."""
    return {"question", "source", "names"} <= set(schema.get("properties") or ())


def wish(asked: ModelRequest) -> dict[str, Any]:
    """Return the question and sources of a reading."""
    here = FILE.findall(asked.words)
    spoken = " ".join(MENTION.sub("", FILE.sub("", asked.words)).split())
    shared = _shared(asked)
    if not here and PLACE.search(spoken) and not SHARED.search(spoken):
        channel = CHANNEL.findall(spoken)
        source = "channel"
        if not channel and "thread" in spoken.lower():
            source = "thread"
        return {"question": spoken, "source": source, "names": channel[:1], "days": _days(spoken)}
    named = here or [name for name in shared if name.lower() in spoken.lower()]
    question = spoken or f"What is in {', '.join(named) or 'it'}?"
    names = list(dict.fromkeys(named))
    if set(named) == set(shared) or "&lt;" in "".join(named):
        names = []  # all files
    return {"question": question, "source": "files", "names": names, "days": WEEK}


def told(asked: ModelRequest) -> str:
    """Return a reading's result; "" without one."""
    for name, text in reversed(asked.found):
        if name == ACTION:
            return untagged(text)
    return ""


def _round(body: Body, question: str) -> str:
    plain = TOLD.search(last_text(body)) is not None
    seen = _observed(body)
    if seen is not None:
        came = findings(seen) or _failed(seen)
        return came if plain else final(came)
    if plain:
        return NOTHING
    code = cell(looked_for(_first(question)))
    return f"I look for the words of the question.\n\n```repl\n{code}\n```"


def _observed(body: Body) -> str | None:
    """Return the last cell's output; None before."""
    for message in reversed(body["messages"]):
        for text in reversed(texts(message["content"])):
            found = OBSERVED.fullmatch(text)
            if found:
                return found[1]
    return None


def _failed(seen: str) -> str:
    said = " ".join(untagged(html.unescape(seen)).split())
    return f"{FAILED}{said[-300:]}."


def final(answer: str) -> str:
    return f"```repl\nFINAL({answer!r})\n```"


def _plainly(parts: dict[str, str], question: str) -> str:
    return findings(survey(parts, looked_for(_first(question))))


def _first(question: str) -> str:
    """Return the question without earlier findings."""
    first, _, _ = question.strip().partition("\n\n")
    return first if looked_for(first) else question


def _parts(text: str) -> dict[str, str]:
    """Return parts by name; without names, the whole as "context"."""
    headers = [*HEADER.finditer(text)]
    if not headers or headers[0].start() > 0:
        return {"context": text}
    ends = [header.start() for header in headers[1:]]
    parts = {}
    for header, end in zip(headers, [*ends, None], strict=True):
        name = header[1] or header[2] or header[3]
        parts[name] = text[header.end() : end].removesuffix("\n\n")
    return parts


def _within(tag: str, text: str) -> str:
    """Return the last element's text between tags on their own lines."""
    start, end = text.rfind(f"<{tag}>\n"), text.rfind(f"\n</{tag}>")
    if not 0 <= start < end:
        return ""
    return text[start + len(tag) + 3 : end]


def _shared(asked: ModelRequest) -> list[str]:
    words = "\n".join([said.words for said in asked.heard])
    return list(dict.fromkeys(FILE.findall(words)))


def _name_one_of(names: Sequence[str], text: str) -> bool:
    return any(name.lower() in text.lower() for name in names)


def _days(words: str) -> int:
    found = DAYS.search(words)
    if found:
        return min(max(int(found[1]), 1), 366)
    for sign, days in SPANS:
        if re.search(sign, words, re.I):
            return days
    return WEEK
