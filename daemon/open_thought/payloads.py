"""The payloads of an answer in open thought, the names that they have on the wire, and what was wrong.

A pure parser of what the model wrote: markup.py finds the tags that count, lxml reads each of them.
Nothing in an answer raises; what cannot be read is a fault, and its words are kept as thought.
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
"""The tags that hold any number of one part and nothing else, with that part."""


LONGEST = 200_000
"""Characters of an answer that are read: more than any model writes in one, little enough to read at once."""


MOST_PAYLOADS = 100
"""More than anybody would follow; each may be a model call."""


MOST_CHILDREN = 1_000
"""Of all payloads together: what is longer is no plan and no question."""


NEVER_CLOSED = "The block of code that begins here is never closed, so all after it is code."


TOO_MANY = f"From here on nothing was read: write at most {MOST_PAYLOADS} payloads in one answer."


TOO_MANY_WITHIN = f"There are too many tags within tags: write at most {MOST_CHILDREN:,}."


MOST_NOTES = 20
"""Of what was repaired: what goes wrong oftener goes wrong alike, and each is a line in the next prompt."""


DEEPEST = 50
"""Elements in each other: actions need three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One element that asks for something, or a part of one.

    `text` is all its text, entities decoded, without white space around it; for a self-call what is left
    beside its payloads and thoughts. `inner` is the markup in it as it was written. `children` are the
    elements with which it begins: a tag after or amid words is words, and stands in `text` as it was written.
    `position` is the character of the answer at which it begins.
    """

    tag: str
    attributes: Mapping[str, str]
    text: str
    inner: str
    children: tuple[Payload, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadFault:
    """What was wrong at a character of the answer, and what to write instead, as a sentence for the model.

    `repaired`: it was understood nevertheless, and this is only a note.
    """

    position: int
    what: str
    repaired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """What an answer holds: its payloads in order, and as `thought` its text outside of them, as written, and
    in `<thought>`s. `misspelt` are the tags that were meant to be carried out, and that nobody knows."""

    thought: str
    payloads: tuple[Payload, ...]
    faults: tuple[PayloadFault, ...]
    misspelt: tuple[MisspeltTag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementExtent:
    """Where the inside of an element begins and ends, and where the text goes on after it."""

    start: int
    end: int
    after: int


class ElementUnreadable(Exception):
    """An element that has to be dropped."""

    recorded_name = "Unreadable"

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position


def parse_payloads(text: str, *, slug: str, actions: Collection[str]) -> ParsedAnswer:
    """Split an answer of the soul with this slug into its payloads and its thought.

    `actions` are the names of those that are offered. A payload counts only at the top level and directly in
    the self-call; not in code, in a quotation (a line that begins with `>`), in a comment, in a thought.
    """
    return _PayloadParser(text, slug, actions).parsed()


def self_tags(slug: str) -> tuple[str, ...]:
    """The tags by which a soul calls itself: its own, and `<ask-NAME>` of the seed on logic and iteration."""
    ask = f"ask-{slug}"
    return (slug, ask, f"ask-{slug.title()}", f"ask-{slug.upper()}")


def tag_slug(name: str) -> str:
    """The name of the soul's own tag: lower case, `[a-z0-9-]`; never a name that means something else."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")
    if not slug or not slug[0].isalpha() or slug in HTML_TAGS or slug in PAYLOAD_NAMES:
        return f"soul-{slug}".strip("-")
    return slug


class _PayloadParser:
    """One answer while it is read."""

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
        """By where it stands."""
        self._strangers: list[MarkupTag] = []
        """Tags of unknown names that stand where a payload may."""
        self._missed: list[MisspeltTag] = []
        """Tags of unknown names that stand where a step or an item may."""
        self._payloads: list[Payload] = []
        self._begun = 0
        """How many payloads were read, or begun to be."""
        self._children = 0
        self._faults: list[PayloadFault] = []
        if len(text) > LONGEST:
            self._fault(LONGEST, f"The answer was cut here: write at most {LONGEST:,} characters.")

    def parsed(self) -> ParsedAnswer:
        """What there is in it."""
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
        """Return the unknown tags that were meant to be carried out; of misspelt thoughts nothing is lost."""
        silent = (f"{self._slug}-response", *SYSTEM_TAGS, *PARTS.values())
        attempts = MisspeltTagFinder(self._markup, self._offered, silent)
        found = [one for one in attempts.find_among(self._strangers) if one.nearest != THOUGHT_TAG]
        return tuple(sorted([*found, *self._missed], key=attrgetter("position")))

    def _level(self, start: int, end: int, *, within: bool) -> list[tuple[int, int]]:
        """Take the payloads between these. Returns where the words beside them begin and end.

        `within`: in a self-call, where another one is none.
        """
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
        """Read a payload or thought that ends there at the latest. Returns where the text goes on."""
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
        """Take the elements beside the parts of a list as misspelt ones: nothing comes of them."""
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
        """The next child in this rest of an element: a part, or a tag with which it begins."""
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
        """Of an element; one that is not closed ends before the next that begins of `until`, or at `end`."""
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
        """Where the first tag of these names begins, if one does there; else the end."""
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
        """The words between these: entities decoded, comments left out, tags as they were written."""
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
        """What goes for several places, and is said once."""
        if what in [fault.what for fault in self._faults]:
            return
        notes = sum(fault.repaired for fault in self._faults)
        if notes < MOST_NOTES or not repaired:
            self._faults.append(PayloadFault(position=position, what=what, repaired=repaired))

    def _fault(self, position: int, what: str) -> None:
        self._faults.append(PayloadFault(position=position, what=what, repaired=False))
