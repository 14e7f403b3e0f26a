"""The speech gate: the parts of an answer that people may read.

Text is private until proven to be speech, unlike private sections, text outside sections and foreign
thoughts. Speech only grows, but the end of a thought that never began discards the text before. Also found:
unmarked harmony channels (`analysisThe user … assistantfinalHello`), and tags that are only mentioned.
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
"""Most characters held back until the beginning of the answer is known."""


class UnmarkedHarmonyFilter:
    """Filter that removes an unmarked harmony thought from a streamed answer."""

    def __init__(self) -> None:
        self.found = False
        """True if the answer began with such a thought."""
        self._passes = False
        """True once the rest of the answer is speech."""
        self._kept = ""

    def feed(self, delta: str) -> str:
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
        self._passes = True
        kept, self._kept = self._kept, ""
        if self.found:
            return ""
        return kept


def begins_channel(text: str) -> bool | None:
    """True if the text begins with a channel name and a sentence; None while undecided."""
    text = text.lstrip()
    for name in CHANNELS:
        first = text.removeprefix(name).lstrip()[:1]
        if text.startswith(name) and first:
            return first.isalpha() and not first.islower()
    if any(name.startswith(text.rstrip()) for name in CHANNELS):
        return None
    return False


MOST = 40
"""Most marks examined in a section."""


NEAR = 200
"""Characters examined on each side of a mark."""


QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "\u2018": "\u2019", "«": "»", "(": ")", "「": "」"}


SENTENCE_ENDS = re.compile("(?:[.!?…。！？:][\"'”\u2019»)\\]*_]*|\n)\\s*$")  # noqa: RUF001


AND = r"(?:[,/&]|(?:and|or|und|oder|et|ou|y|o|e|и|или)\b)"


TAG_WORD = r"(?:tags?|elements?|elementen?|balises?|étiquettes?|etiquetas?|тег\w*|标签|標籤|タグ|태그)"


OTHER = r"</?[\w:.-]+>"


AFTER_WORD = re.compile(rf"(?:\b|(?<=\W)){TAG_WORD}[\s:]*(?:{OTHER}\s*{AND}?\s*)*$", re.IGNORECASE)


BEFORE_WORD = re.compile(rf"[\s-]*(?:{AND}\s*{OTHER}\s*)*{TAG_WORD}(?!\w)", re.IGNORECASE)


class SectionTranscript:
    """Original text of a public section, with its marks.

    `before`: texts of all sections when this one began. `hidden`: our private tags.
    """

    def __init__(self, before: Mapping[str, str], kept: str, hidden: Collection[str]) -> None:
        self.before = before
        self.kept = kept
        """The answer to be remembered, up to the section."""
        self._hidden = hidden
        self._parts: list[str] = []
        self._thoughts: list[int] = []
        self._may_speak_of_tags = True

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def append(self, token: Token) -> None:
        if isinstance(token, AnswerMark):
            if token.kind == "thought":
                self._thoughts.append(len(self._parts))
            elif token.kind == "stray":
                pass
            elif token.kind in ("token", "label") or token.name in self._hidden:
                self._may_speak_of_tags = False  # certainly a mark, no mention
            token = token.raw
        self._parts.append(token)

    def speaks_of_tags(self) -> bool:
        """True at the section's end if the marks of thoughts in it are only mentions."""
        marks, self._thoughts = self._thoughts, []
        if not marks or not self._may_speak_of_tags or len(marks) > MOST:
            return False
        self._may_speak_of_tags = all(map(self._is_mention, marks))
        return self._may_speak_of_tags

    def _is_mention(self, place: int) -> bool:
        before, after = self._parts[:place], self._parts[place + 1 :]
        return is_tag_mention("".join(before)[-NEAR:], "".join(after)[:NEAR])


def is_tag_mention(before: str, after: str) -> bool:
    """True if a tag between these texts is quoted, or next to a word for "tag"."""
    if before and after and QUOTES.get(before[-1]) == after[0]:
        return True
    line = before.rpartition("\n")[2]
    if AFTER_WORD.search(line):
        return True
    return not ends_sentence(line) and BEFORE_WORD.match(after) is not None


def ends_sentence(text: str) -> bool:
    return not text.strip() or SENTENCE_ENDS.search(text) is not None


@dataclass(slots=True, kw_only=True)
class OpenSection:
    """An open part of an answer.

    `foreign`: another model's thought, ended by its own mark alone. `token`: text after a control token.
    `label`: text under a private heading. `doubt`: text in an unknown tag before speech, a thought if closed.
    """

    kind: Literal["outside", "section", "foreign", "token", "label", "doubt"]
    name: str
    raw: str = ""
    in_header: bool = False
    """True after a token that announces a channel's name."""
    header: str = ""
    blank: bool = True
    again: bool = False
    """True if this public section came before: its text is ignored."""
    tail: str = ""
    within: list[str] = field(default_factory=list)


class GrowingText:
    """A text that grows by pieces and is joined on demand."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.blank = True

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def append(self, text: str) -> None:
        self._pieces.append(text)
        if self.blank:
            self.blank = not text.strip()

    def clear(self) -> None:
        self._pieces.clear()
        self.blank = True


FRAME_TAGS = frozenset(
    {"answer", "response", "reply", "output", "final", "final_answer", "message", "assistant", "dialogue"}
)
"""Tags that models put around a whole answer; the text inside is said."""


FINAL_CHANNEL = "final"


LONGEST_HEADER = 100


OUTSIDE = ""


NOTHING_OPEN = OpenSection(kind="outside", name=OUTSIDE)


class SpeechGate:
    """Incremental parser of an answer's sections.

    A private tag opens within other sections until closed. Other tags there are text, unless they begin a
    section: then a public section ends, an unclosed private one goes on. Sections with suffixed tags replace
    bare ones.
    """

    def __init__(
        self, tags: Iterable[str], private: Iterable[str] = (), written: SectionTags = UNSUFFIXED_TAGS
    ) -> None:
        """Keep the tags; `written`: their suffixed form, which makes tags without suffix text."""
        self._private = frozenset(private)
        self._written = written
        self._unmarked = UnmarkedHarmonyFilter()
        self._scanner = AnswerScanner(tags, self._private, written.suffix)
        self._texts: dict[str, GrowingText] = {OUTSIDE: GrowingText()}
        self._kept = GrowingText()
        self._transcript = SectionTranscript({}, "", self._private)
        """Transcript of the latest public section, or of the text before any."""
        self._frames: list[OpenSection] = []
        self._framed = ""
        """Name of the tag around the whole speech."""
        self._labelled = False
        self._final = False
        """True once a channel proved the speech public."""
        self.foreign = False
        """True if a foreign mark was found."""
        self.repeats = False
        """True if a public section with text began again."""
        self._torn = False
        """True if a removed thought may have belonged to the sentence around it."""
        self._bare = set[str]()
        """Sections that opened without the suffix."""
        self._strays = 0
        """Number of open tags without suffix that have the section's name."""
        self._slip = ""
        """Closing tag without suffix that may end the section, and white space after it."""

    @property
    def text_outside(self) -> str:
        return str(self._texts[OUTSIDE])

    @property
    def text(self) -> dict[str, str]:
        """Text by section, in order of opening."""
        return {name: str(text) for name, text in self._texts.items() if name != OUTSIDE}

    @property
    def own_text(self) -> str:
        """The answer without foreign parts."""
        return str(self._kept)

    @property
    def ends_in_open_thought(self) -> bool:
        """True if an unclosed thought in a section may contain speech."""
        opened = [frame.kind for frame in self._frames if frame.kind != "token" or not frame.blank]
        return opened[:1] == ["section"] and ("foreign" in opened or "token" in opened)

    @property
    def may_lack_words(self) -> bool:
        """True if a sentence may lack a part that was taken for a thought."""
        opened = [frame for frame in self._frames if frame.kind in ("foreign", "token") and not frame.blank]
        return self._torn or (bool(opened) and self._within_sentence)

    def _may_be_part(self, thought: OpenSection) -> bool:
        """True if a removed thought may belong to its sentence.

        A mention follows a space and ends no sentence before its closing tag.
        """
        if self._here.kind not in ("section", "outside") or not self._within_sentence:
            return False
        return str(self._texts[self._section])[-1:].isspace() and not ends_sentence(thought.tail)

    @property
    def _within_sentence(self) -> bool:
        section = self._section
        return section not in self._private and not ends_sentence(str(self._texts[section]))

    def section_text(self, tag: str) -> str:
        return str(self._texts.get(tag, ""))

    def is_open(self, tag: str) -> bool:
        """True if the section is open; a repeated section counts as closed."""
        return any(one.kind == "section" and one.name == tag and not one.again for one in self._frames)

    def has_begun(self, tag: str) -> bool:
        return tag in self._texts

    def has_ended(self, tag: str) -> bool:
        return tag in self._texts and not self.is_open(tag)

    def feed(self, delta: str) -> None:
        self._take(self._scanner.feed(self._unmarked.feed(delta)))
        if self._unmarked.found:
            self.foreign = True

    def end(self) -> None:
        """Decide on the text that is still held back when the answer ends."""
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
        return self._scanner.is_marked

    def _judge_slip(self, token: Token) -> bool:
        """True while a closing tag without suffix is undecided.

        The tag counts if another section follows directly, or the answer ends.
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
        if mark.name not in self._private and mark.name == self._section:
            self._restore_mentions()

    def _restore_mentions(self) -> None:
        """Turn thoughts back into text if the section only mentions their tags."""
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
        if not self._frames:
            return NOTHING_OPEN
        return self._frames[-1]

    @property
    def _section(self) -> str:
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
        if mark.kind != "thought" or mark.name != here.name:
            here.blank = False
        elif not mark.closing:
            self._frames.append(OpenSection(kind="foreign", name=mark.name))
        elif not mark.broken:
            self._frames.pop()
            self._torn = self._torn or self._may_be_part(here)

    def _stray(self, mark: AnswerMark) -> None:
        """Process our tag without suffix: text, or the mistaken end of a section."""
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
        if again:  # a repeated section does not count
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
        if not self._written.suffix:
            return mark.raw
        if mark.closing:
            return self._written.closing(mark.name)
        return self._written.opening(mark.name)

    def _thought(self, mark: AnswerMark) -> None:
        if mark.closing and mark.name in self._private and self._section == OUTSIDE and len(self._texts) > 1:
            return  # this tag closes nothing
        self.foreign = True
        if mark.closing:
            self._take_back()
        else:
            self._frames.append(OpenSection(kind="foreign", name=mark.name))

    def _take_back(self) -> None:
        """Discard the text so far: a closing tag showed that it was private."""
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
        """Process a control token: only harmony's final channel is public."""
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
        """Process an unknown tag: text, unless nothing was said before."""
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
        """True for tags with capitals, like TwiML's `<Response>`, which models do not invent."""
        return self.is_marked and mark.name not in mark.raw

    def _believe(self) -> None:
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
    parsed = SpeechGate(tags, private, written)
    parsed.feed(text)
    parsed.end()
    return parsed


def spoken_text(text: str) -> str:
    """Return a whole answer without thoughts, if no sections were asked for; JSON stays."""
    if _is_json(text):
        return text.strip()
    return split_sections(text, ()).text_outside.strip()


TAG = re.compile(r"<([A-Za-z][\w-]*)")


FOREIGN = THOUGHT_TAGS - {"thought"}
"""Tags of foreign thoughts; `<thought>` is the soul's own, in open thought."""


def strip_thoughts(text: str) -> str:
    """Remove foreign thoughts from a whole answer; its tags stay."""
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
