"""The script reads what is long: it says what is to be read, writes one cell, and tells what the cell found.

It looks for the words of the question and for nothing else, and says so. All that it goes by stands in the
request: the question, the text or what its cell printed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.claude.asked import MESSAGE, Asked
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.report import findings
from rehearsal.claude.survey import cell, survey
from rehearsal.claude.task import task_of
from rehearsal.claude.wanted import FILE, MENTION, looked_for

ACTION = "ReadDeeply"
UNNAMED = re.compile(r'\[context:\d+ ("[^"\n]*")\]')
"""A citation of what has no place."""
TOLD = re.compile(r"\b(without|no) code\b|\bno more room\b", re.I)
"""Asks for the answer in plain words, with no more program."""
OBSERVED = re.compile(r"<observation>\n(.*)\n</observation>\s*", re.S)
HEADER = re.compile(
    r"""\A(?:(\S{1,80}):\n | ([^\n:]{1,80}):\n(?=\[https?://))
    | (?:\A|(?<=\n\n))([^\s:][^\n:]{0,200}\.\w{1,8}(?:[ ]\(\d+\))?):\n""",
    re.X,
)
"""Where a part of a text begins: a line with its name."""
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
"""What people do with a text, or ask of one."""
BROUGHT = re.compile(r":\s*\S|\n")
"""The text that they mean stands in the message itself."""
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
"""What is said before it reads."""


def read_on(body: Body) -> str:
    """What is answered in a reading; "" where the request asks for something else."""
    first = (texts(body["messages"][0]["content"]) or [""])[0]
    if first.startswith("<question>\n") and "\n</shape>" in first:
        return _round(body, _within("question", first))
    if len(body["messages"]) == 1 and first.rstrip().endswith("\n</question>"):
        text, question = _within("text", first), _within("question", first)
        return _plainly(_parts(text), question) if text else ""
    return ""


def looked_up(body: Body) -> str:
    """The answer to a bare question with its text, as a cell asks it; "" for anything else."""
    every = texts(body["messages"][0]["content"])
    if body.get("system") or len(body["messages"]) > 1 or len(every) != 1 or MESSAGE.search(every[0]):
        return ""
    lines = [line for line in every[0].split("\n") if line.strip()]
    if len(lines) < 2:
        return ""
    question = next((line for line in (lines[0], lines[-1]) if line.rstrip().endswith("?")), lines[0])
    return _plainly({"context": "\n".join(line for line in lines if line != question)}, question, cited=False)


def is_to_be_read(asked: Asked) -> bool:
    """Whether they want a file read that came with their message, or before it; or a thread, or a channel.

    Where they do not say what, it is the file that the last answer was about.
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
    return wants and _name_one_of(names, *asked.answers[-1:]) and task_of(spoken) is None


def is_wish(schema: Mapping[str, Any]) -> bool:
    """Whether an answer to this schema says what is to be read."""
    return {"question", "source", "names"} <= set(schema.get("properties") or ())


def wish(asked: Asked) -> dict[str, Any]:
    """What is to be read, and what for."""
    here = FILE.findall(asked.words)
    spoken = " ".join(MENTION.sub("", FILE.sub("", asked.words)).split())
    shared = _shared(asked)
    if not here and PLACE.search(spoken) and not SHARED.search(spoken):
        channel = CHANNEL.findall(spoken)
        source = "thread" if not channel and "thread" in spoken.lower() else "channel"
        return {"question": spoken, "source": source, "names": channel[:1], "days": _days(spoken)}
    named = here or [name for name in shared if name.lower() in spoken.lower()]
    several = set(named) < set(shared) and not any("&lt;" in name for name in named)
    return {
        "question": spoken or f"What is in {', '.join(named) or 'it'}?",
        "source": "files",
        "names": list(dict.fromkeys(named)) if several else [],
        "days": WEEK,
    }


def told(asked: Asked) -> str:
    """What came of a reading, for whoever wanted it; "" where nothing was read."""
    read = [text for name, text in asked.found if name == ACTION]
    return read[-1].replace("<", "\u2039") if read else ""


def _round(body: Body, question: str) -> str:
    """The next answer in a reading of several rounds: its cell, then what came of it."""
    asks = texts(body["messages"][-1]["content"])[-1]
    observed = [
        OBSERVED.fullmatch(text) for message in body["messages"] for text in texts(message["content"])
    ]
    seen = [found[1] for found in observed if found]
    plain = TOLD.search(asks) is not None
    if not seen:
        return (
            NOTHING if plain else f"I look for the words of the question.\n\n```repl\n{_cell(question)}\n```"
        )
    came = (
        findings(seen[-1])
        or FAILED + " ".join(html.unescape(seen[-1]).replace("<", "\u2039").split())[-300:] + "."
    )
    return came if plain else final(came)


def final(answer: str) -> str:
    """A final answer, in the form that ends a reading; in quotes, where a bracket would end it too soon."""
    open_brackets = 0
    for letter in answer:
        open_brackets += {"(": 1, ")": -1}.get(letter, 0)
        if open_brackets < 0:
            return f"FINAL({answer!r})"
    return f"FINAL({answer})"


def _cell(question: str) -> str:
    return cell(looked_for(_first(question)))


def _plainly(parts: dict[str, str], question: str, *, cited: bool = True) -> str:
    """The same by the script itself, where it sees the text."""
    found = findings(survey(parts, looked_for(_first(question))))
    return found if cited else UNNAMED.sub(r"\1", found)


def _first(question: str) -> str:
    """The question without what an earlier reading found."""
    first, _, _ = question.strip().partition("\n\n")
    return first if looked_for(first) else question


def _parts(text: str) -> dict[str, str]:
    """The parts of a text by their names; one without a name is the context itself."""
    headers = [*HEADER.finditer(text)]
    if not headers or headers[0].start() > 0:
        return {"context": text}
    ends = [*(header.start() for header in headers[1:]), len(text) + 2]
    return {
        header[1] or header[2] or header[3]: text[header.end() : end].removesuffix("\n\n")
        for header, end in zip(headers, ends, strict=True)
    }


def _within(tag: str, text: str) -> str:
    """What stands in the last element of this name, whose tags are lines of their own."""
    start, end = text.rfind(f"<{tag}>\n"), text.rfind(f"\n</{tag}>")
    return text[start + len(tag) + 3 : end] if 0 <= start < end else ""


def _shared(asked: Asked) -> list[str]:
    """The names of all files of this conversation, each once."""
    return list(dict.fromkeys(name for said in asked.heard for name in FILE.findall(said.words)))


def _name_one_of(names: Sequence[str], *texts: str) -> bool:
    return any(name.lower() in text.lower() for name in names for text in texts)


def _days(words: str) -> int:
    found = DAYS.search(words)
    if found:
        return min(max(int(found[1]), 1), 366)
    return next((days for sign, days in SPANS if re.search(sign, words, re.I)), WEEK)
