"""The one gate: what of a model's answer may be read by anybody.

Private until proven spoken: what stands in a private section, in none, or in a thought of another model's
kind is never dialogue. Fed in pieces of any size; what it gives as dialogue only grows, until a mark that
closes a thought which never opened takes back all that stood before it.

What is open in an answer while it is read, and the texts that grow in it.

Harmony's channels where a server has dropped their marks: `analysisThe user … assistantfinalHello`.

Only an answer that begins so is one; sections.py reads what is left.

Sentences about tags: a `<thinking>` that is only spoken of is text, not the begin of a thought.

Private until proven spoken: each mark of the section has to stand within a sentence, in quotation marks or
beside a word for "tag". Where one does not, all of them count as marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from daemon.answers.marks import THOUGHT_TAGS, AnswerMark, Token
from daemon.answers.scanner import AnswerScanner
from daemon.prompts.elements import SAY_TAG, UNSUFFIXED_TAGS, SectionTags

CHANNELS = ("analysis", "commentary", "assistantanalysis", "assistantcommentary")


HARMONY_FINAL_TEXT = "assistantfinal"


LONGEST = 1_000
"""Characters that are kept back at the most, until it is known how an answer begins."""


class UnmarkedHarmonyFilter:
    """Takes such a thought, which no mark of its own closes, out of an answer that comes in pieces."""

    def __init__(self) -> None:
        self.found = False
        """Did the answer begin with one?"""
        self._passes = False
        """Is all that comes now what the model says?"""
        self._kept = ""

    def feed(self, delta: str) -> str:
        """Take the next piece; returns what of it, and of what was kept back, is no such thought."""
        if self._passes:
            return delta
        self._kept += delta
        if not self.found:
            begun = begins_channel(self._kept)
            if begun is None and len(self._kept) <= LONGEST:
                return ""
            if not begun:
                return self.end()
            self.found = True
        _, final, rest = self._kept.partition(HARMONY_FINAL_TEXT)
        if final:
            self._passes = True
        else:
            self._kept = self._kept[1 - len(HARMONY_FINAL_TEXT) :]
        return rest

    def end(self) -> str:
        """No more will come: returns what was kept back, if it was no thought."""
        self._passes = True
        kept, self._kept = self._kept, ""
        if self.found:
            return ""
        return kept


def begins_channel(text: str) -> bool | None:
    """Does an answer that begins so begin with a channel's name? None: that is not known yet.

    A word that is no more than the name of a channel stands before what begins a sentence.
    """
    text = text.lstrip()
    for name in CHANNELS:
        first = text.removeprefix(name).lstrip()[:1]
        if text.startswith(name) and first:
            return first.isalpha() and not first.islower()
    if any(name.startswith(text.rstrip()) for name in CHANNELS):
        return None
    return False


MOST = 40
"""Marks of one section that are looked at."""


NEAR = 200
"""Characters on each side of a mark that are looked at."""


QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "\u2018": "\u2019", "«": "»", "(": ")", "「": "」"}


SENTENCE_ENDS = re.compile("(?:[.!?…。！？:][\"'”\u2019»)\\]*_]*|\n)\\s*$")  # noqa: RUF001


AND = r"(?:[,/&]|(?:and|or|und|oder|et|ou|y|o|e|и|или)\b)"


TAG_WORD = r"(?:tags?|elements?|elementen?|balises?|étiquettes?|etiquetas?|тег\w*|标签|標籤|タグ|태그)"


OTHER = r"</?[\w:.-]+>"


AFTER_WORD = re.compile(rf"(?:\b|(?<=\W)){TAG_WORD}[\s:]*(?:{OTHER}\s*{AND}?\s*)*$", re.IGNORECASE)


BEFORE_WORD = re.compile(rf"[\s-]*(?:{AND}\s*{OTHER}\s*)*{TAG_WORD}(?!\w)", re.IGNORECASE)


class SectionTranscript:
    """What stands in a section whose text is said, as it was written.

    `before` is what all texts of the answer were as it began, by section. `hidden` are our private tags.
    """

    def __init__(self, before: Mapping[str, str], kept: str, hidden: Collection[str]) -> None:
        self.before = before
        self.kept = kept
        """The answer as it is remembered, up to here."""
        self._hidden = hidden
        self._parts: list[str] = []
        self._thoughts: list[int] = []
        """The places of the parts that may begin or end a thought."""
        self._may_speak_of_tags = True

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def append(self, token: Token) -> None:
        """It goes on so."""
        if isinstance(token, AnswerMark):
            if token.kind == "thought":
                self._thoughts.append(len(self._parts))
            elif token.kind == "stray":
                pass
            elif token.kind in ("token", "label") or token.name in self._hidden:
                self._may_speak_of_tags = False  # there is a mark in it beyond doubt
            token = token.raw
        self._parts.append(token)

    def speaks_of_tags(self) -> bool:
        """Return True if it ends here, holds marks of thoughts, and all of them are only spoken of."""
        marks, self._thoughts = self._thoughts, []
        if not marks or not self._may_speak_of_tags or len(marks) > MOST:
            return False
        self._may_speak_of_tags = all(map(self._is_mention, marks))
        return self._may_speak_of_tags

    def _is_mention(self, place: int) -> bool:
        before, after = self._parts[:place], self._parts[place + 1 :]
        return is_tag_mention("".join(before)[-NEAR:], "".join(after)[:NEAR])


def is_tag_mention(before: str, after: str) -> bool:
    """Return True if a tag between these texts is spoken of: it is quoted, or beside a word for "tag"."""
    if before and after and QUOTES.get(before[-1]) == after[0]:
        return True
    line = before.rpartition("\n")[2]
    if AFTER_WORD.search(line):
        return True
    return not ends_sentence(line) and BEFORE_WORD.match(after) is not None


def ends_sentence(text: str) -> bool:
    """Return True if nothing stands in the text, or it ends with a sentence or a line."""
    return not text.strip() or SENTENCE_ENDS.search(text) is not None


@dataclass(slots=True, kw_only=True)
class OpenSection:
    """What is open. `foreign`: a thought of another model's kind, which ends by its own mark alone.

    `token`: what comes after a control token. `label`: what stands under a heading that names a private
    section. `doubt`: under a tag that nobody knows, before anything was said: a thought, if it is closed.
    """

    kind: Literal["outside", "section", "foreign", "token", "label", "doubt"]
    name: str
    raw: str = ""
    in_header: bool = False
    """Of a token: is it the one that names a channel?"""
    header: str = ""
    """What came since that."""
    blank: bool = True
    """Does nothing stand in it?"""
    again: bool = False
    """True for a public section if one of its name said something: then nothing of this one counts."""
    tail: str = ""
    """The last words in it."""
    within: list[str] = field(default_factory=list)


class GrowingText:
    """A text that grows in pieces, joined when it is looked at."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.blank = True
        """Does it hold white space alone?"""

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def append(self, text: str) -> None:
        """It goes on so."""
        self._pieces.append(text)
        if self.blank:
            self.blank = not text.strip()

    def clear(self) -> None:
        """None of it counts any more."""
        self._pieces.clear()
        self.blank = True


FRAME_TAGS = frozenset(
    {"answer", "response", "reply", "output", "final", "final_answer", "message", "assistant", "dialogue"}
)
"""Tags that some models put around all that they say: what stands in them is said, they are not."""


FINAL_CHANNEL = "final"
"""The one channel of harmony that people read."""


LONGEST_HEADER = 100
"""Characters of what stands between a channel's token and its message that are looked at."""


OUTSIDE = ""


NOTHING_OPEN = OpenSection(kind="outside", name=OUTSIDE)


class SpeechGate:
    """Feed it deltas; it knows each section's text so far.

    A private tag inside another section opens the private one until it is closed; any other tag inside a
    section is text of that section, unless it begins a new one after a section that was never closed:
    then the unclosed section keeps everything, if it is private, and ends there, if it is not. A section
    whose tag has the suffix takes the place of one whose tag has none.
    """

    def __init__(
        self, tags: Iterable[str], private: Iterable[str] = (), written: SectionTags = UNSUFFIXED_TAGS
    ) -> None:
        """`written` says how these tags are written: in an answer that has them so, bare ones are text."""
        self._private = frozenset(private)
        self._written = written
        self._unmarked = UnmarkedHarmonyFilter()
        self._scanner = AnswerScanner(tags, self._private, written.suffix)
        self._texts: dict[str, GrowingText] = {OUTSIDE: GrowingText()}
        self._kept = GrowingText()
        self._transcript = SectionTranscript({}, "", self._private)
        """Of the public section that was opened last, or of what stands before any."""
        self._frames: list[OpenSection] = []
        self._framed = ""
        """The tag around all that is said, if there is one."""
        self._labelled = False
        self._final = False
        """Was it proven that what is said now is said aloud, by a channel?"""
        self.foreign = False
        """Did it hold any mark of another model's kind?"""
        self.repeats = False
        """True if a public section began again that had said something."""
        self._torn = False
        """Was a thought taken out of the middle of a sentence? It may have been a part of that."""
        self._bare = set[str]()
        """The sections whose text stands in tags without the suffix."""
        self._strays = 0
        """The number of open tags of this section's name in it, without the suffix."""
        self._slip = ""
        """A tag that would end this section, but for the suffix, and the white space that came since."""

    @property
    def text_outside(self) -> str:
        """What stands in no section."""
        return str(self._texts[OUTSIDE])

    @property
    def text(self) -> dict[str, str]:
        """What stands in each section that was opened, in the order of opening."""
        return {name: str(text) for name, text in self._texts.items() if name != OUTSIDE}

    @property
    def own_text(self) -> str:
        """The answer as it came, but for what was foreign."""
        return str(self._kept)

    @property
    def ends_in_open_thought(self) -> bool:
        """Does a section end in a thought that was never closed? What was to be said may stand in there."""
        opened = [frame.kind for frame in self._frames if frame.kind != "token" or not frame.blank]
        return opened[:1] == ["section"] and ("foreign" in opened or "token" in opened)

    @property
    def may_lack_words(self) -> bool:
        """True if a sentence of what is said may lack a part: nobody can tell whether that was a thought."""
        opened = [frame for frame in self._frames if frame.kind in ("foreign", "token") and not frame.blank]
        return self._torn or (bool(opened) and self._within_sentence)

    def _may_be_part(self, thought: OpenSection) -> bool:
        """Return True if what looked like a thought may be a part of the sentence around it.

        Whoever speaks of a tag leaves a space before it, and ends no sentence before its closing tag.
        """
        if self._here.kind not in ("section", "outside") or not self._within_sentence:
            return False
        return str(self._texts[self._section])[-1:].isspace() and not ends_sentence(thought.tail)

    @property
    def _within_sentence(self) -> bool:
        """True if the public text that is open stands in the middle of a sentence."""
        section = self._section
        return section not in self._private and not ends_sentence(str(self._texts[section]))

    def section_text(self, tag: str) -> str:
        """What stands in this section so far."""
        return str(self._texts.get(tag, ""))

    def is_open(self, tag: str) -> bool:
        """Return True if this section was begun and not closed; one that begins again counts as closed."""
        return any(one.kind == "section" and one.name == tag and not one.again for one in self._frames)

    def has_begun(self, tag: str) -> bool:
        """Return True if this section was begun."""
        return tag in self._texts

    def has_ended(self, tag: str) -> bool:
        """Return True if this section was begun, and is closed by now."""
        return tag in self._texts and not self.is_open(tag)

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        self._take(self._scanner.feed(self._unmarked.feed(delta)))
        if self._unmarked.found:
            self.foreign = True

    def end(self) -> None:
        """No more will come: what looked like the beginning of a mark was text, or is gone."""
        self._take(self._scanner.feed(self._unmarked.end()))
        self._take(self._scanner.end())
        if self._slip:
            self._end_by_slip()
        self._restore_mentions()
        if self._here.kind == "doubt" and len(self._frames) == 1:
            self._believe()

    def _take(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            if isinstance(token, AnswerMark) and token.kind == "tag" and token.closing:
                self._end_transcript(token)
            if self._slip and self._judge_slip(token):
                continue
            self._transcript.append(token)
            if isinstance(token, str):
                self._emit(token)
            else:
                self._mark(token)

    @property
    def is_marked(self) -> bool:
        """True if it has tags with the suffix."""
        return self._scanner.is_marked

    def _judge_slip(self, token: Token) -> bool:
        """Return True if it is still open whether a tag without the suffix ended the section.

        It did where another section begins directly after it, or the answer ends.
        """
        if isinstance(token, str) and not token.strip():
            self._slip += token
            return True
        if isinstance(token, AnswerMark) and token.begins_section and token.name != self._section:
            self._end_by_slip()
            return False
        slip, self._slip = self._slip, ""
        self._transcript.append(slip)
        self._emit(slip)
        return False

    def _end_by_slip(self) -> None:
        section = self._section
        self._slip = ""
        self._restore_mentions()
        self._close(AnswerMark(kind="tag", name=section, raw=self._written.closing(section), closing=True))

    def _end_transcript(self, mark: AnswerMark) -> None:
        """Restore the mentions of tags before a tag that may close a public section."""
        if mark.name not in self._private and mark.name == self._section:
            self._restore_mentions()

    def _restore_mentions(self) -> None:
        """Take for text what looked like thoughts, where the section only speaks of their tags."""
        section = self._section
        again = any(frame.again for frame in self._frames)
        if again or section in self._private or not self._transcript.speaks_of_tags():
            return
        for name, text in self._texts.items():
            before = self._transcript.before.get(name, "")
            if name not in self._private and text.blank and before:
                text.append(before)
        while self._here.kind not in ("section", "outside"):
            self._frames.pop()
        self._torn = False
        said = self._texts[section]
        said.clear()
        said.append(self._transcript.before.get(section, "") + self._transcript.text)
        self._kept.clear()
        self._kept.append(self._transcript.kept + self._transcript.text)

    @property
    def _here(self) -> OpenSection:
        """What was opened last of all that is open."""
        if not self._frames:
            return NOTHING_OPEN
        return self._frames[-1]

    @property
    def _section(self) -> str:
        """The section that is open, or what is in none."""
        for frame in reversed(self._frames):
            if frame.kind == "section":
                return frame.name
        return OUTSIDE

    def _mark(self, mark: AnswerMark) -> None:
        here = self._here
        if here.kind == "foreign":
            self._within_thought(here, mark)
        elif mark.kind == "tag":
            self._tag(mark)
        elif mark.kind == "stray":
            self._stray(mark)
        elif mark.kind == "thought":
            self._thought(mark)
        elif here.kind == "section" and here.name in self._private:
            self._emit(mark.raw)
        elif mark.kind == "token":
            self._token(mark)
        elif here.kind == "token":
            self._emit(mark.raw)
        elif mark.kind == "label":
            self._label(mark)
        else:
            self._other(mark)

    def _within_thought(self, here: OpenSection, mark: AnswerMark) -> None:
        """Nothing that stands in a thought is anything else."""
        if mark.kind != "thought" or mark.name != here.name:
            here.blank = False
        elif not mark.closing:
            self._frames.append(OpenSection(kind="foreign", name=mark.name))
        elif not mark.broken:
            self._frames.pop()
            self._torn = self._torn or self._may_be_part(here)

    def _stray(self, mark: AnswerMark) -> None:
        """A tag of ours without the suffix: text, but the end of a section by mistake."""
        if self._here.kind != "section" or mark.name != self._here.name:
            self._emit(mark.raw)
        elif not mark.closing:
            self._strays += 1
            self._emit(mark.raw)
        elif self._strays:
            self._strays -= 1
            self._emit(mark.raw)
        elif mark.name in self._private:
            self._emit(mark.raw)
        else:
            self._slip = mark.raw

    def _tag(self, mark: AnswerMark) -> None:
        self._end_labels()
        here = self._here
        if here.kind == "token":
            here.blank = False
        elif mark.closing:
            self._close(mark)
        elif here.name in self._private:
            self._kept.append(self._remembered(mark))
            if mark.name == here.name:
                self._frames.append(OpenSection(kind="section", name=mark.name))
        else:
            self._open(mark)

    def _open(self, mark: AnswerMark) -> None:
        if mark.name not in self._private:
            self._frames.clear()
        text = self._texts.setdefault(mark.name, GrowingText())
        self._strays = 0
        if mark.exact and mark.name in self._bare:
            text.clear()
            self._bare.discard(mark.name)
        elif not mark.exact:
            self._bare.add(mark.name)
        again = not text.blank and mark.name not in self._private
        self._frames.append(OpenSection(kind="section", name=mark.name, again=again))
        if again:  # an answer says a thing once
            self.repeats = True
            return
        if not text.blank:
            text.append("\n\n")
        self._kept.append(self._remembered(mark))
        if mark.name not in self._private:
            before = {name: str(text) for name, text in self._texts.items()}
            self._transcript = SectionTranscript(before, str(self._kept), self._private)

    def _close(self, mark: AnswerMark) -> None:
        if self._here.kind == "doubt" and mark.name == self._section:
            self._believe()
        if self._here.kind == "section" and self._here.name == mark.name:
            closed = self._frames.pop()
            if not closed.again:
                self._kept.append(self._remembered(mark))
        elif self._here.name in self._private:
            self._kept.append(mark.raw)

    def _remembered(self, mark: AnswerMark) -> str:
        """Return how a tag of ours that counts is remembered: with the suffix, if there is one."""
        if not self._written.suffix:
            return mark.raw
        if mark.closing:
            return self._written.closing(mark.name)
        return self._written.opening(mark.name)

    def _thought(self, mark: AnswerMark) -> None:
        """A mark of another model's kind, where no thought is open."""
        if mark.closing and mark.name in self._private and self._section == OUTSIDE and len(self._texts) > 1:
            return  # it closes nothing, beside what is said
        self.foreign = True
        if mark.closing:
            self._take_back()
        else:
            self._frames.append(OpenSection(kind="foreign", name=mark.name))

    def _take_back(self) -> None:
        """What stands before this was a thought."""
        self._torn = False
        for name, text in self._texts.items():
            if name not in self._private:
                text.clear()
        self._kept.clear()
        for frame in self._frames:
            if frame.kind == "section":
                self._kept.append(self._written.opening(frame.name))
        self._frames = [frame for frame in self._frames if frame.kind != "doubt"]

    def _token(self, mark: AnswerMark) -> None:
        """Harmony: of all channels only the final one is read. What comes after any other token is not."""
        self.foreign = True
        here = self._here
        if here.kind != "token":
            here = OpenSection(kind="token", name=mark.name)
            self._frames.append(here)
        match mark.name:
            case "channel" | "start":
                if not self._final:
                    self._take_back()
                here.in_header = mark.name == "channel"
                here.header = ""
            case "message" if here.in_header and here.header.split()[:1] == [FINAL_CHANNEL]:
                self._frames.pop()
                self._final = True
            case "constrain":
                pass
            case _:
                here.in_header = False

    def _label(self, mark: AnswerMark) -> None:
        """A heading that names one of our sections; once one named a private one, the others count, too."""
        if mark.name in self._private:
            self.foreign = True
            self._labelled = True
            if self._here.kind != "label":
                self._frames.append(OpenSection(kind="label", name=mark.name))
        elif self._labelled:
            self._end_labels()
            if mark.name != SAY_TAG:
                self._frames.append(OpenSection(kind="label", name=mark.name))
        else:
            self._emit(mark.raw)

    def _end_labels(self) -> None:
        while self._here.kind == "label":
            self._frames.pop()

    def _other(self, mark: AnswerMark) -> None:
        """A tag that nobody knows: text, unless nothing was said before it."""
        here = self._here
        said = not self._texts[self._section].blank
        if mark.closing and mark.name == self._framed:
            self._framed = ""
        elif mark.closing and here.kind == "doubt" and here.name == mark.name:
            self.foreign = True
            self._frames.pop()
        elif mark.closing or said or here.kind in ("doubt", "label") or self._is_shown(mark):
            self._emit(mark.raw)
        elif mark.name in FRAME_TAGS:
            self.foreign = True
            self._framed = mark.name
        else:
            self._frames.append(OpenSection(kind="doubt", name=mark.name, raw=mark.raw))

    def _is_shown(self, mark: AnswerMark) -> bool:
        """True for a tag like TwiML's `<Response>` in what is said: a model's own is in small letters."""
        return self.is_marked and mark.name not in mark.raw

    def _believe(self) -> None:
        """The tag that nobody knows was never closed: it was text."""
        doubt = self._frames.pop()
        self._emit("".join([doubt.raw, *doubt.within]))

    def _emit(self, text: str) -> None:
        here = self._here
        if here.again:
            return
        if here.kind in ("outside", "section"):
            self._texts[here.name].append(text)
            self._kept.append(text)
        elif here.kind == "doubt":
            here.within.append(text)
        else:
            if text.strip():
                here.blank = False
            here.tail = (here.tail + text)[-LONGEST_HEADER:]
            if here.in_header:
                here.header = (here.header + text)[:LONGEST_HEADER]


def split_sections(
    text: str, tags: Iterable[str], private: Iterable[str] = (), written: SectionTags = UNSUFFIXED_TAGS
) -> SpeechGate:
    """The sections of a whole answer."""
    parsed = SpeechGate(tags, private, written)
    parsed.feed(text)
    parsed.end()
    return parsed


def spoken_text(text: str) -> str:
    """What is left of a whole answer, of which no sections were asked, without the thoughts in it.

    JSON stays as it is: no mark in its strings is one.
    """
    if _is_json(text):
        return text.strip()
    return split_sections(text, ()).text_outside.strip()


TAG = re.compile(r"<([A-Za-z][\w-]*)")


FOREIGN = THOUGHT_TAGS - {"thought"}
"""In `<thought>`, a tag of open thought, nothing is said to people, but much to the soul itself."""


def strip_thoughts(text: str) -> str:
    """A whole answer as it came, tags and all, but for the thoughts in it that are another model's way."""
    names = {name.lower() for name in TAG.findall(text)}
    parsed = split_sections(text, names - FOREIGN)
    if parsed.foreign:
        return parsed.own_text
    return text


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
