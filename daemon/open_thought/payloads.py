"""Pure parser of the payloads in an answer of open thought.

It never raises: an element that cannot be read is a fault, and its text counts as thought.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from daemon.answers.marks import tag_kind
from daemon.open_thought.markup import (
    MOST_MISSPELT,
    MarkupTag,
    MarkupTags,
    MisspeltTag,
    MisspeltTagFinder,
    decode_xml_entities,
    parse_attributes,
)
from daemon.prompts.elements import (
    FAN_OUT,
    HTML_TAGS,
    PARTS,
    PAYLOAD_NAMES,
    PRIVATE_TAGS,
    ROOT_TAGS,
    SYSTEM_TAGS,
    THOUGHT_TAG,
    TODO_UNTIL,
    WORDS,
    xml_writable,
)

LISTS = {tag: PARTS[tag] for tag in (TODO_UNTIL, FAN_OUT)}
"""Tags that may contain only one kind of part."""


LONGEST = 200_000
"""Most characters of an answer that are parsed, since more would take too long."""


MOST_PAYLOADS = 100
"""Most payloads of an answer: each may cost a model call."""


MOST_CHILDREN = 1_000
"""Most elements in all payloads together."""


NEVER_CLOSED = "The block of code that begins here is never closed, so all after it is code."


TOO_MANY = f"From here on nothing was read: write at most {MOST_PAYLOADS} payloads in one answer."


TOO_MANY_WITHIN = f"There are too many tags within tags: write at most {MOST_CHILDREN:,}."


MOST_NOTES = 20
"""Most repairs reported: each is a line of the next prompt."""


DEEPEST = 50
"""Most levels of nested elements; actions need three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """An element that asks for something, or a part of one.

    `text` is decoded; that of a self-call leaves out payloads and thoughts. `inner` is the markup as written.
    `children` stand at its beginning; later tags are text. `position` is an index in the answer.
    """

    tag: str
    attributes: Mapping[str, str]
    text: str
    inner: str
    children: tuple[Payload, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadFault:
    """A fault at a position, with advice for the model. `repaired`: the element was
    understood nevertheless.
    """

    position: int
    what: str
    repaired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """Parsed answer; `thought` is the text outside of payloads and that in `<thought>`."""

    thought: str
    payloads: tuple[Payload, ...]
    faults: tuple[PayloadFault, ...]
    misspelt: tuple[MisspeltTag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementExtent:
    start: int
    end: int
    after: int


class ElementUnreadable(Exception):
    recorded_name = "Unreadable"

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position


def parse_payloads(text: str, *, slug: str, actions: Collection[str]) -> ParsedAnswer:
    """Parse an answer of the soul whose tag is `slug`; `actions` are the names of actions on offer.

    Payloads count at the top level and directly in a self-call, but not in code, quotations, comments or
    thoughts.
    """
    return _PayloadParser(text, slug, actions).parsed()


def self_tags(slug: str) -> tuple[str, ...]:
    """Return the tags of a self-call: the soul's, and `<ask-NAME>` of the seed on logic and iteration."""
    ask = f"ask-{slug}"
    return (slug, ask, f"ask-{slug.title()}", f"ask-{slug.upper()}")


def tag_slug(name: str) -> str:
    """Return the tag for the name of a soul, in `[a-z0-9-]` and unlike all other known tags."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")
    if not slug or not slug[0].isalpha() or slug in HTML_TAGS or slug in PAYLOAD_NAMES:
        return f"soul-{slug}".strip("-")
    return slug


class _PayloadParser:
    def __init__(self, text: str, slug: str, actions: Collection[str]) -> None:
        final = f"{slug}-response"
        self._slug = slug
        self._calls = frozenset(self_tags(slug)).difference(actions)
        self._words_only = (final, *WORDS)
        self._offered = (slug, final, *ROOT_TAGS, *actions)
        self._known = self._calls.union(self._offered)
        self._text = xml_writable(text[:LONGEST])
        self._markup = MarkupTags(self._text, self._known)
        self._thought: list[tuple[int, str]] = []
        """Parts of the thought, with their positions in the answer."""
        self._strangers: list[MarkupTag] = []
        """Unknown tags where a payload may stand."""
        self._missed: list[MisspeltTag] = []
        self._payloads: list[Payload] = []
        self._begun = 0
        self._children = 0
        self._faults: list[PayloadFault] = []
        if len(text) > LONGEST:
            self._fault(LONGEST, f"The answer was cut here: write at most {LONGEST:,} characters.")

    def parsed(self) -> ParsedAnswer:
        for tag in self._markup.tags:
            if tag.kind == "doctype":
                self._note(tag.start, "A DOCTYPE is not allowed: leave it out.", repaired=False)
            elif tag.kind == "unclosed code" and self._names_ours(tag):
                self._fault(tag.start, NEVER_CLOSED)
        for start, end in self._level(0, len(self._text), within=False):
            self._thought.append((start, self._text[start:end]))
        thought = [text.strip() for _, text in sorted(self._thought)]
        position = attrgetter("position")
        return ParsedAnswer(
            thought="\n\n".join(text for text in thought if text),
            payloads=tuple(sorted(self._payloads, key=position)),
            faults=tuple(sorted(self._faults, key=position)),
            misspelt=self._misspelt(),
        )

    def _misspelt(self) -> tuple[MisspeltTag, ...]:
        silent = (f"{self._slug}-response", *SYSTEM_TAGS, *PARTS.values())
        attempts = MisspeltTagFinder(self._markup, self._offered, silent)
        found = [one for one in attempts.find_among(self._strangers) if one.nearest != THOUGHT_TAG]
        return tuple(sorted([*found, *self._missed], key=attrgetter("position")))

    def _level(self, start: int, end: int, *, within: bool) -> list[tuple[int, int]]:
        words = []
        for tag in self._markup.between(start, end):
            if tag.start < start:
                continue
            if tag.name not in self._known:
                if tag.begins:
                    self._strangers.append(tag)
                continue
            if self._begun == MOST_PAYLOADS and tag.kind != "close" and tag.name != THOUGHT_TAG:
                self._note(tag.start, TOO_MANY, repaired=False)
                break
            words.append((start, tag.start))
            if within and tag.name in self._calls and tag.kind != "broken":
                self._note(tag.start, f"There was a <{tag.name}> in a <{self._slug}>: one is enough.")
                start = tag.end
            elif tag.kind == "close":
                self._note(tag.start, f"</{tag.name}> closes nothing: leave it out, or open it first.")
                start = tag.end
            else:
                start = self._take(tag, end)
        return [*words, (start, end)]

    def _take(self, tag: MarkupTag, end: int) -> int:
        extent = self._extent(tag, end, self._known)
        if tag.name == THOUGHT_TAG and tag.begins:
            self._thought.append((tag.start, self._decoded(extent.start, extent.end)))
            return extent.after
        self._begun += 1
        try:
            self._payloads.append(self._payload(tag, extent))
        except ElementUnreadable as error:
            self._fault(error.position, str(error))
            self._thought.append((tag.start, self._text[tag.start : extent.after]))
        return extent.after

    def _payload(self, tag: MarkupTag, extent: ElementExtent) -> Payload:
        if tag.name not in self._calls:
            return self._element(tag, extent, depth=1)
        attributes = self._attributes(tag)
        words = self._level(extent.start, extent.end, within=True)
        texts = [self._decoded(start, end) for start, end in words]
        return self._made(tag, extent, attributes, texts)

    def _made(
        self,
        tag: MarkupTag,
        extent: ElementExtent,
        attributes: Mapping[str, str],
        texts: Sequence[str],
        children: Sequence[Payload] = (),
    ) -> Payload:
        name = tag.name
        if name in self._calls:
            name = self._slug
        return Payload(
            tag=name,
            attributes=attributes,
            text="".join(texts).strip(),
            inner=self._text[extent.start : extent.end],
            children=tuple(children),
            position=tag.start,
        )

    def _element(self, tag: MarkupTag, extent: ElementExtent, depth: int) -> Payload:
        if depth > DEEPEST:
            raise ElementUnreadable(
                tag.start, f"The tags stand too deep in each other: at most {DEEPEST} may."
            )
        if depth > 1:
            self._children += 1
            if self._children > MOST_CHILDREN:
                raise ElementUnreadable(tag.start, TOO_MANY_WITHIN)
        attributes = self._attributes(tag)
        part = LISTS.get(tag.name, "")
        texts: list[str] = []
        children: list[Payload] = []
        until = []
        if tag.name in PARTS:
            until.append(PARTS[tag.name])
        start = extent.start
        found = self._child(tag, start, extent.end)
        while found is not None:
            inside = self._extent(found, extent.end, until)
            child = self._element(found, inside, depth + 1)
            children.append(child)
            texts += [self._decoded(start, child.position), child.text]
            self._miss(part, start, child.position)
            start = inside.after
            found = self._child(tag, start, extent.end)
        texts.append(self._decoded(start, extent.end))
        self._miss(part, start, extent.end)
        return self._made(tag, extent, attributes, texts, children)

    def _miss(self, part: str, start: int, end: int) -> None:
        if not part:
            return
        for tag in self._markup.between(start, end):
            closing = self._markup.closed_by.get(tag.start)
            if tag.start < start or not tag.begins or closing is None or closing.end > end:
                continue
            start = closing.end
            told = len(self._missed) == MOST_MISSPELT or any(one.tag == tag.name for one in self._missed)
            if not told and tag.name not in self._known and tag_kind(tag.name, (), PRIVATE_TAGS) == "other":
                self._missed.append(MisspeltTag(position=tag.start, tag=tag.name, nearest=part))

    def _child(self, parent: MarkupTag, start: int, end: int) -> MarkupTag | None:
        if parent.name in self._words_only:
            return None
        part = PARTS.get(parent.name)
        for tag in self._markup.between(start, end):
            if part is None and (not tag.begins or self._text[start : tag.start].strip()):
                return None
            if tag.begins and part in (None, tag.name):
                return tag
        return None

    def _extent(self, tag: MarkupTag, end: int, until: Collection[str]) -> ElementExtent:
        closing = self._markup.closed_by.get(tag.start)
        if tag.kind == "empty":
            return ElementExtent(start=tag.end, end=tag.end, after=tag.end)
        if closing and closing.end <= end:
            return ElementExtent(start=tag.end, end=closing.start, after=closing.end)
        if tag.begins:
            self._note(tag.start, f"<{tag.name}> was not closed where it should be: write </{tag.name}>.")
        if until:
            end = self._first_of(until, tag.end, end)
        return ElementExtent(start=tag.end, end=end, after=end)

    def _first_of(self, names: Collection[str], start: int, end: int) -> int:
        for tag in self._markup.between(start, end):
            if tag.name in names and tag.kind != "close":
                return tag.start
        return end

    def _attributes(self, tag: MarkupTag) -> Mapping[str, str]:
        written = self._text[tag.start : tag.end]
        found = None
        if tag.begins:
            found = parse_attributes(tag.name, written)
        if found is None:
            raise ElementUnreadable(
                tag.start,
                f'<{tag.name}> could not be read: write each attribute once, as name="value", and then >.',
            )
        return found

    def _decoded(self, start: int, end: int) -> str:
        pieces = []
        for tag in self._markup.between(start, end):
            if tag.kind in ("comment", "cdata"):
                pieces.append(decode_xml_entities(self._text[start : tag.start]))
                if tag.kind == "cdata":
                    pieces.append(self._text[tag.start + len("<![CDATA[") : tag.end - len("]]>")])
                start = tag.end
        pieces.append(decode_xml_entities(self._text[start:end]))
        return "".join(pieces)

    def _names_ours(self, tag: MarkupTag) -> bool:
        names = "|".join(map(re.escape, self._known))
        return re.search(rf"</?(?:{names})[\s/>]", self._text[tag.start :]) is not None

    def _note(self, position: int, what: str, *, repaired: bool = True) -> None:
        if what in [fault.what for fault in self._faults]:
            return
        notes = sum(fault.repaired for fault in self._faults)
        if notes < MOST_NOTES or not repaired:
            self._faults.append(PayloadFault(position=position, what=what, repaired=repaired))

    def _fault(self, position: int, what: str) -> None:
        self._faults.append(PayloadFault(position=position, what=what, repaired=False))
