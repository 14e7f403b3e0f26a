"""Plain answers of the script to people, from the request alone.

It tells each person once that it is a script, and never pretends to understand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rehearsal.claude.asked import DEED, OPEN_THOUGHT, PROBLEM, READING, TURNS, ModelRequest, TagSection
from rehearsal.claude.hits import SearchHit, avoided, best, holds
from rehearsal.claude.keepsakes import answering, each_once, facts_in, is_own_question, wanted_kept
from rehearsal.claude.long_reading import BEGINS, is_to_be_read, told
from rehearsal.claude.phrasing import short, together, untagged
from rehearsal.claude.picking import FILES, topics
from rehearsal.claude.wanted import looked_for
from rehearsal.claude.wished import LOOKS, is_deed

SCRIPT = "rehearsal script"
CONFESSION = f"I am a {SCRIPT}, not a mind: I answer by a few fixed rules, and all around me is real."
GREETED = re.compile(r"\bgreet\b|\bnever spoken with\b", re.I)
HELLO = re.compile(
    r"(@\S+\s+)?(hi|hello|hey|hallo|hiya|greetings|good (morning|afternoon|evening|day))\b", re.I
)
THANKS = re.compile(r"\b(thanks|thank you|thx|cheers)\b", re.I)
ABOUT_ME = re.compile(
    r"\b(know|noted|learned|learnt|remember(ed)?) (about |of )?(me|myself)\b"
    r"|\bwhat (have|did) I (tell|told) you (about|of) (me|myself)\b|\bwho am I\b",
    re.I,
)
ABILITIES = (
    "I can keep what you tell me of yourself, look things up in files, think in branches, read a long file by"
    " a program, use tools of other systems, ask before I do what costs something, and stop when you say so;"
    " my moods turn with your words. In the rehearsed workspace a tour on the page shows each of these. With"
    " a key for Claude the same soul understands what you say, and finds its own way in all of that."
)
ABOUT_YOU = re.compile(
    r"""\b(?:who|what)\s+are\s+you\b
    | \bare\s+you\s+(?:an?\s+)?(?:ai|bot|robot|human|person|script|claude|real)\b
    | \bwhat\s+(?:can|could|do|else\s+can)\s+you\s+do\b | \bhow\s+(?:can|could|do)\s+you\s+(?:help|work)\b
    | ^\W*(?:@\S+\s+)?(?:and\s+)?(?:please\s+)?(?:
        what(?:\s+is|.s)\s+(?:all\s+)?this(?:\s+here|\s+place|\s+thing)?
        | (?:(?:can|could)\s+you\s+)?help(?:\s+me)?(?:\s+please)?
        | what\s+(?:can|should|do)\s+I\s+(?:do|ask|try|say)(?:\s+you|\s+here|\s+now|\s+first|\s+with\s+you)?
        | how\s+(?:does\s+(?:this|it)\s+work|do\s+I\s+(?:use|talk\s+to)\s+(?:this|it|you))
    )\W*$""",
    re.I | re.X,
)
"""Questions about it and its purpose."""
RECALL = re.compile(
    r"\b(remember|earlier|(did|have) I (just )?(say|said|tell|told)|(last|first) (thing|message))\b", re.I
)
BAD_IDEA = re.compile(r"\b(print|delete|rename|rewrite|throw away)\b.*\b(all|every\w*|whole|entire)\b", re.I)
COUNTS_TO = re.compile(r"\bcount (?:up )?to (?P<end>\d{1,4})\b", re.I)
DECLINED = "Decline"
"""Label of the button that refuses."""
NOT_CALLED = "it was not called"
FAILED = re.compile(
    rf"(?:it failed|{NOT_CALLED}|the tool reports an error|nobody knows whether this was done)\b", re.I
)
UNFINISHED = re.compile(r"\bbefore you are done\b")
TURNED = (
    (r"\bI am\b|\bI.m\b", "you are"),
    (r"\bI was\b", "you were"),
    (r"\bI\b", "you"),
    (r"\bmy\b", "your"),
    (r"\bmine\b", "yours"),
    (r"\bme\b", "you"),
    (r"\bmyself\b", "yourself"),
)


def spoken_line(request: ModelRequest) -> str:
    read = told(request)
    if read:
        return read
    return f"{_greeting(request)} {_answer(request)}".strip()


def turned(request: ModelRequest) -> str:
    """Return the process to change to: reading, problem solving (also for owners' processes) or open thought;
    "" for none.
    """
    for section in request.sections:
        named = chosen(section, request)
        if named and PROBLEM in section.choices and named not in TURNS:
            return PROBLEM
        if named in (READING, PROBLEM, OPEN_THOUGHT):
            return named
    return ""


def chosen(section: TagSection, request: ModelRequest) -> str:
    """Return a section's choice; "" for free text."""
    if READING in section.choices and is_to_be_read(request):
        return READING
    plain = ABOUT_YOU.search(request.words) or wanted_kept(request.words) or _told_before(request)
    if {PROBLEM, OPEN_THOUGHT} & set(section.choices) and plain:
        return section.chosen("")
    return section.chosen(request.words)


def quotable(words: str) -> str:
    return short(untagged(words))


def as_told(facts: Sequence[str]) -> str:
    """Repeat facts to their speaker: I am becomes you are."""
    return together(each_once(_turned(fact.strip(" .!")) for fact in facts))


def _turned(sentence: str) -> str:
    for sign, instead in TURNED:
        sentence = re.sub(sign, instead, sentence, flags=re.I)
    return quotable(sentence)


def _greeting(request: ModelRequest) -> str:
    """Greet after a greeting or if instructed; then also say, once per person, that it is a script."""
    first = GREETED.search(request.instruction) is not None
    if not first and not HELLO.match(request.words):
        return ""
    hello = f"Hello{_to(request)}!"
    return f"{hello} {CONFESSION}" if first else hello


def _answer(request: ModelRequest) -> str:
    goes = turned(request)
    if goes == READING:
        return BEGINS
    if goes == PROBLEM:
        return "Let me see to it." if DEED.search(request.words) else "Let me look."
    return _came_of(request) or _by_rule(request) or _plain(request)


def _came_of(request: ModelRequest) -> str:
    """Report searches and actions; "" without any."""
    if any(name in LOOKS for name, _ in request.found):
        return _looked_up(request)
    done = [text for name, text in request.found if is_deed(name)]
    if request.pressed == DECLINED and not (done and not done[-1].startswith(NOT_CALLED)):
        return f"As you wish{_to(request)}: I have left it."
    if done and FAILED.match(done[-1]):
        return f"That went wrong{_to(request)}: {done[-1].rstrip('.')}."
    if done:
        return f"Done{_to(request)}. {done[-1]}"
    return ""


def _by_rule(request: ModelRequest) -> str:
    """Return the first rule's answer; "" if none applies."""
    counts = COUNTS_TO.search(request.words)
    if counts:
        numbers = range(1, int(counts["end"]) + 1)
        return f"{', '.join(map(str, numbers))}."
    if wanted_kept(request.words):
        return f"I will remember{_to(request)}: {as_told(facts_in(request.words))}."
    if BAD_IDEA.search(request.words):
        return f"By all means{_to(request)}. And tomorrow we look for whoever has to undo it."
    if ABOUT_YOU.search(request.words):
        if GREETED.search(request.instruction):
            return ABILITIES
        return f"{CONFESSION} {ABILITIES}"
    if THANKS.search(request.words):
        return f"You are welcome{_to(request)}."
    if ABOUT_ME.search(request.words):
        return _known(request)
    before = _told_before(request)
    if before:
        return f"You told me that {as_told(before)}."
    if RECALL.search(request.words):
        return f"Let me leaf back{_to(request)}. {_before(request)}"
    facts = facts_in(request.words)
    if facts:
        return f"I will remember{_to(request)}: {as_told(facts)}."
    return ""


def _told_before(request: ModelRequest) -> list[str]:
    """Return earlier facts that answer a question about themselves."""
    if not is_own_question(request.words):
        return []
    return answering(request.words, request.told)


def _to(request: ModelRequest) -> str:
    return f", {request.person}" if request.person else ""


def _plain(request: ModelRequest) -> str:
    if not request.words:
        return "I see no words that were said to me."
    if HELLO.fullmatch(request.words.strip(" .!")):
        return "What shall we look at?"
    if request.words.rstrip().endswith("?"):
        said = f"A good question{_to(request)}, and I cannot know the answer. You asked:"
    else:
        said = f"I hear you{_to(request)}. You said:"
    return f"{said} “{quotable(request.words)}”"


def _known(request: ModelRequest) -> str:
    facts = as_told(request.told)
    if facts:
        return f"You told me that {facts}."
    return f"Nothing yet{_to(request)}: tell me something of yourself."


def _before(request: ModelRequest) -> str:
    """Quote the same person's earlier message."""
    before = [said.words for said in request.heard[:-1] if said.name == request.person]
    if not before:
        return "This is the first that I hear from you."
    if re.search(r"\bfirst\b", request.words, re.I):
        return f"You began with: “{quotable(before[0])}”"
    return f"You said before: “{quotable(before[-1])}”"


def _looked_up(request: ModelRequest) -> str:
    """Return found lines with places; unsuitable ones separately."""
    asked_for = topics(request.words)
    results = [text for name, text in request.found if name in LOOKS]
    found: list[SearchHit] = []
    missing: list[str] = []
    for topic, result in zip(asked_for, results, strict=False):
        hits = best(result, topic)
        found += hits
        if not hits:
            missing.append(topic)
    if missing and len(asked_for) == 1:
        missing = list(looked_for(asked_for[0]))
    if not found and FILES not in dict(request.found):
        return f"I have looked{_to(request)}, and found: “{quotable(results[-1])}”"
    said = []
    if found:
        said.append(_list(request, found))
    if missing:
        said.append(f"I have looked{_to(request)}, and found nothing about {together(missing)}.")
    still = asked_for[len(results) :]
    if still and UNFINISHED.search(request.instruction):
        said.append(f"Not looked up yet: {together(still)}.")
    return "\n\n".join(said)


def _list(request: ModelRequest, found: Sequence[SearchHit]) -> str:
    avoids: list[str] = []
    suits = [*found]
    for word in avoided(request.told):
        if any(holds(hit, word) for hit in found):
            avoids.append(word)
            suits = [hit for hit in suits if not holds(hit, word)]
    said = []
    if suits:
        opening = "These suit you" if avoids else "Here is what stands in our files"
        lines = [f"- {hit.words} ({hit.place})" for hit in suits]
        said.append("\n".join([f"{opening}{_to(request)}:", *lines]))
    if avoids:
        rest = together([hit.name or hit.words for hit in found if hit not in suits])
        said.append(f"Not for you: {rest}. You told me that you cannot eat {together(avoids)}.")
    return "\n\n".join(said)
