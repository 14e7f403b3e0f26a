"""The pages of a text that are still to be said, each in the form in which Slack takes it.

A page that is refused for its content is halved, twice at the most; then what is left of it is plain text.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.ports import MessagePage, Speaker

HALVINGS = 2
SMALLEST = 200
"""Characters of the smallest page that another one is divided into."""
PLAIN = 3_500
"""Characters of a page of plain text: where a message is rewritten Slack takes 4,000."""


class PageQueue:
    """The pages of `text`, in order. Whoever says the first one calls `said`, or `refused`."""

    def __init__(self, speaker: Speaker, text: str, pages: Sequence[MessagePage]) -> None:
        self._speaker = speaker
        self._text = text
        self._left = list(pages)
        self._ends: list[int] = []
        """Where in the text the pages end that were said."""
        self._refused_upto = 0
        self._halvings = 0
        self.plain = False
        """Is the next page to be said as plain text?"""

    def __bool__(self) -> bool:
        return bool(self._left)

    @property
    def next_page(self) -> MessagePage:
        """What is to be said next."""
        return self._left[0]

    @property
    def is_last(self) -> bool:
        """True if nothing is to be said after it."""
        return len(self._left) == 1

    @property
    def _since(self) -> int:
        """Where in the text the next page begins."""
        return self._ends[-1] if self._ends else 0

    def mark_said(self) -> None:
        """Go on with the page after it."""
        self._ends.append(self._left.pop(0).upto)
        if self._since >= self._refused_upto:
            self.plain = False
            self._halvings = 0

    def try_other_form(self) -> bool:
        """Try another form of the next page; False if there is none."""
        if self.plain:
            return self._divide()
        if self._since >= self._refused_upto:
            self._refused_upto = self.next_page.upto
        if self._halvings < HALVINGS and self._divide():
            self._halvings += 1
        else:
            self.plain = True
            self._cut(self._plain_ends())
        return True

    def _divide(self) -> bool:
        """Let the next page be the first half of what it is; False if it is too small."""
        if self.next_page.upto - self._since < 2 * SMALLEST:
            return False
        half = (self._since + self.next_page.upto) // 2
        pages = len(self._left)
        self._cut([self._speaker.page_end(self._text[:half], self._since), self.next_page.upto])
        return len(self._left) > pages

    def _plain_ends(self) -> list[int]:
        """Where pages of plain text end, up to the end of what was refused."""
        ends, since = list[int](), self._since
        while self._refused_upto - since > PLAIN:
            since = self._speaker.page_end(self._text[: since + PLAIN], since)
            ends.append(since)
        return [*ends, self._refused_upto]

    def _cut(self, ends: Sequence[int]) -> None:
        """Let the next pages end here, and those after them where they did."""
        after = [page.upto for page in self._left if page.upto > ends[-1]]
        pages = self._speaker.pages(self._text, [*self._ends, *ends, *after])
        self._left = list(pages[len(self._ends) :])
