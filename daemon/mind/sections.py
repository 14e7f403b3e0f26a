"""Splits a model's streamed answer into its tagged sections, whatever the size of the chunks.

Used by the pipeline. Fails closed: what stands in a private section, or in none, is never dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class Sections:
    """Feed it deltas; it knows each section's text so far.

    A private tag inside another section opens the private one until it is closed; any other tag inside a
    section is text of that section, unless it begins a new one after a section that was never closed:
    then the unclosed section keeps everything, if it is private, and ends there, if it is not.
    """

    def __init__(self, tags: Iterable[str], private: Iterable[str] = ()) -> None:
        self._private = frozenset(private)
        self._names = frozenset(tags)
        names = "|".join(map(re.escape, sorted(self._names)))
        self._tag = re.compile(rf"<\s*(/?)\s*({names})\b[^<>]*>", re.IGNORECASE)
        self._buffer = ""
        self._within: list[str] = []
        self.outside = ""
        """What stands in no section."""
        self.text: dict[str, str] = {}
        """What stands in each section that was opened, in the order of opening."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        self._buffer += delta
        while found := self._tag.search(self._buffer):
            self._emit(self._buffer[: found.start()])
            self._buffer = self._buffer[found.end() :]
            self._turn(closing=bool(found[1]), tag=found[2].lower())
        keep = self._unfinished()
        self._emit(self._buffer[:keep])
        self._buffer = self._buffer[keep:]

    def end(self) -> None:
        """No more will come: what looked like the beginning of a tag was text."""
        if not self._maybe_tag(self._buffer):
            self._emit(self._buffer)
        self._buffer = ""

    def is_open(self, tag: str) -> bool:
        """Was this section begun, and not closed by now?"""
        return tag in self._within

    def _turn(self, *, closing: bool, tag: str) -> None:
        here = self._within[-1] if self._within else None
        if closing:
            if tag == here:
                self._within.pop()
        elif here in self._private:  # nothing that stands in a private section is anything else
            if tag == here:
                self._within.append(tag)
        else:
            if tag not in self._private:
                self._within.clear()
            self._within.append(tag)
            before = self.text.get(tag, "")
            self.text[tag] = before + "\n\n" if before.strip() else before

    def _emit(self, text: str) -> None:
        if self._within:
            self.text[self._within[-1]] += text
        else:
            self.outside += text

    def _unfinished(self) -> int:
        """Where the tail begins that may yet become a tag."""
        start = self._buffer.rfind("<")
        return start if start >= 0 and self._maybe_tag(self._buffer[start:]) else len(self._buffer)

    def _maybe_tag(self, tail: str) -> bool:
        """Could this, with more to come, be one of our tags?"""
        found = re.fullmatch(r"<\s*/?\s*(\w*)([^<>]*)", tail)
        if not found:
            return False
        word, rest = found[1].lower(), found[2]
        return word in self._names if rest else any(name.startswith(word) for name in self._names)


def sections(text: str, tags: Iterable[str], private: Iterable[str] = ()) -> Sections:
    """The sections of a whole answer."""
    parsed = Sections(tags, private)
    parsed.feed(text)
    parsed.end()
    return parsed
