"""One step of thinking in the open: what the soul is asked, and what its answer holds.

The final answer is the one thing in it that people may read: it goes through the same gate as all speech,
and only from where it begins outside of code and quotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from daemon.answers.plain_answer import parse_json_sections, spoken_part, spoken_part_so_far
from daemon.answers.private_words import HiddenWordsGuard, PrivateWords
from daemon.answers.repetition import normalized_text
from daemon.answers.speech_gate import SpeechGate, split_sections
from daemon.engine.event import Entry
from daemon.kinds import ModelCall, PlanChanged
from daemon.memory import WorkingMemory
from daemon.mind.asking import ModelQuestion, StreamedQuestion, with_situation, with_time
from daemon.model import Role
from daemon.open_thought.markup import BEFORE_FENCE
from daemon.open_thought.payloads import ParsedAnswer, parse_payloads, self_tags
from daemon.prompts.elements import ROOT_TAGS, SAY_TAG, TODO_UNTIL, UNSUFFIXED_TAGS
from daemon.turn.branches import Branches
from daemon.turn.model_calls import report_odd_answer
from daemon.turn.recall import DELIBERATE
from daemon.turn.speech import status_while
from daemon.turn.turn import Turn

CLOSED = {
    "done": ("true", "yes", "1", "x", "done", "complete", "completed"),
    "cancelled": ("cancelled", "canceled", "skipped"),
}
"""What a step says in `done` that is closed, by how; with any other word it is open."""


HIDES = rf"(?:^|(?<=>)){BEFORE_FENCE.pattern}(?P<fence>`{{3,}}(?=[^`<\n]*$)|~{{3,}})|<!--(?!.*?-->)"
"""What begins a block of code, or a comment that does not end in its line."""


COMMENT_ENDS = re.compile(".*?-->")


QUOTED = re.compile(r"\s{0,3}>")


SAYS_NOTHING = re.compile(
    rf"(?P<hides>{HIDES})|(?P<run>`+)(?!`)[^`\n]*(?P=run)|<!--.*?-->|<[\w-]+(?:\s[^<>]*)?/>"
)
"""That; code and comments within a line; and tags that hold nothing."""


class FinalAnswerReader:
    """What stands in the final answer so far; fed in pieces of any size."""

    def __init__(self, slug: str) -> None:
        self._tag = f"{slug}-response"
        self._begins = re.compile(rf"<{re.escape(self._tag)}(?:\s[^<>]*)?>", re.IGNORECASE)
        private = [*self_tags(slug), *ROOT_TAGS]
        self._sections = SpeechGate([self._tag, *private], private)
        self.opened = False
        """Has it begun? From then on all is its own, code and quotations too."""
        self._line = ""
        self._ends: re.Pattern[str] | None = None
        """How the block of code or the comment ends that has begun."""

    @property
    def text(self) -> str:
        """What is said in it."""
        return self._sections.section_text(self._tag).strip()

    @property
    def began_again(self) -> bool:
        """True if it began again, after it had said something."""
        return self._sections.repeats

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        if self.opened:
            self._sections.feed(delta)
            return
        *whole, self._line = (self._line + delta).split("\n")
        lines = iter(whole)
        for line in lines:
            self._take(f"{line}\n")
            if self.opened:
                self._sections.feed("\n".join([*lines, self._line]))
                self._line = ""
                return
        if self._begins.search(self._line) and not self._begins_apart():
            self._take(self._line)
            self._line = ""

    def end(self) -> None:
        """No more will come."""
        if self._line:
            self._take(self._line)
        self._sections.end()

    def _begins_apart(self) -> bool:
        """May this line, which is not whole yet, be code or a quotation?"""
        if self._ends or "`" in SAYS_NOTHING.sub("", self._line):
            return True
        return bool(QUOTED.match(self._line) or re.search(HIDES, self._line))

    def _take(self, line: str) -> None:
        """A line, of which what is code, a comment or quoted says nothing, until the final answer begins."""
        if self._ends:
            end = self._ends.match(line)
            if end is None:
                return
            self._ends = None
            line = line[end.end() :]
        if QUOTED.match(line):
            return
        at = 0
        for silent in SAYS_NOTHING.finditer(line):
            self._hear(line[at : silent.start()])
            at = silent.start()
            if self.opened:
                break
            at = silent.end()
            if silent["hides"]:
                fence = silent["fence"]
                self._ends = COMMENT_ENDS
                if fence:
                    self._ends = re.compile(rf"[ \t]*{fence}+[ \t]*(?=$|</)")
                return
        self._hear(line[at:])

    def _hear(self, text: str) -> None:
        """Text that says something, or stands in the final answer."""
        self._sections.feed(text)
        self.opened = self._sections.is_open(self._tag) or bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenThought:
    """What came of one step: the memory with what was heard meanwhile, the call, and what is in its answer.

    `final` is what people are to read, or have read of it where it broke off; empty: this was not the end.
    `unfinished`: there was no room for all of it. `gives_away`: it repeated what the soul thought earlier,
    and is not read.
    """

    memory: WorkingMemory
    call: Entry[ModelCall]
    parsed: ParsedAnswer
    final: str = ""
    unfinished: bool = False
    gives_away: bool = False

    @property
    def is_usable(self) -> bool:
        """Did the model answer at all?"""
        return self.call.event.is_usable


class ThoughtStep:
    """One step: asked for everything, or for the final answer alone."""

    def __init__(
        self, turn: Turn, memory: WorkingMemory, slug: str, actions: Collection[str], *, plan_is_open: bool
    ) -> None:
        self._turn = turn
        self._slug = slug
        self._actions = actions
        self._plan_is_open = plan_is_open
        self._speaks = not Branches(turn).parent
        place = with_time
        if self._speaks:
            place = with_situation
        self._listening = StreamedQuestion(turn, place(turn, memory))
        self._private = PrivateWords(self._listening.memory, thinks=True)
        self._before = memory
        self.speech = self._listening.speech

    def _reader(self) -> _FinalAnswerStream:
        return _FinalAnswerStream(self._slug, self._leaves_steps_open, self._private)

    def _leaves_steps_open(self, text: str) -> bool:
        """Are steps of the plan open after this beginning of an answer?"""
        plan = last_plan(parse_payloads(text, slug=self._slug, actions=self._actions))
        if plan is None:
            return self._plan_is_open
        return bool(plan.open_steps)

    async def ask(
        self, instruction: str, role: Role = "speak", *, alone: bool = False, private: bool = True
    ) -> OpenThought:
        """Ask. A final answer is read while it comes, but for one that is asked for `alone`: that may stand
        in no tag. Without `private` the model does not see what it thought earlier.
        """
        aloud = self._speaks and not alone
        question = ModelQuestion(
            name=DELIBERATE,
            instruction=instruction,
            role=role,
            stop_sequences=[UNSUFFIXED_TAGS.closing(f"{self._slug}-response")] if alone else (),
            private=private,
        )
        async with status_while(self._turn, self._turn.current_mood().status):
            call = await self._listening.ask(question, self._reader if aloud else None)
        event = call.event
        text = ""
        if event.is_usable:
            text = event.text
        final = final_answer_in(text, self._slug, alone=alone)
        if aloud and event.outcome == "cancelled":
            reader = self._reader()
            for piece in re.split("(?<=>)", event.text):  # as it came: a later plan takes nothing back
                reader.feed(piece)
            final = reader.spoken_so_far
        gives_away = self._speaks and self._private.are_in(final)
        if gives_away:
            report_odd_answer(self._turn, event.model, "private")
            final = ""
        return OpenThought(
            memory=self._before.with_memory(*self._listening.memory.heard_since(self._before)),
            call=call,
            parsed=parse_payloads(text, slug=self._slug, actions=self._actions),
            final=final,
            gives_away=gives_away,
            unfinished=event.outcome == "cut" and f"</{self._slug}-response" not in text.lower(),
        )


class _FinalAnswerStream:
    """Hears a final answer. Where steps of the plan are open it waits for a plan without any."""

    def __init__(self, slug: str, leaves_steps_open: Callable[[str], bool], private: PrivateWords) -> None:
        self._final = FinalAnswerReader(slug)
        self._watch = HiddenWordsGuard(private)
        self._leaves_steps_open = leaves_steps_open
        self._before: list[str] = []
        """The answer up to where its final part begins."""
        self._may_speak: bool | None = None
        """Known once that begins."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        self._final.feed(delta)
        if self._may_speak is not None:
            return
        self._before.append(delta)
        if self._final.opened:
            self._may_speak = not self._leaves_steps_open("".join(self._before))

    @property
    def spoken_so_far(self) -> str:
        """What of it people may read so far."""
        if not self._may_speak:
            return ""
        return self._watch.safe_part(spoken_part_so_far(self._final.text))

    @property
    def is_complete(self) -> bool:
        """True if a second final answer has begun, or this one has given a thought away."""
        return self._final.began_again or self._watch.found


def final_answer_in(text: str, slug: str, *, alone: bool = False) -> str:
    """The final answer in a whole text; `alone`: where nothing else was asked, it may stand in no tag."""
    whole = FinalAnswerReader(slug)
    whole.feed(text)
    whole.end()
    if whole.text or not alone:
        return spoken_part(whole.text)
    private = [*self_tags(slug), *ROOT_TAGS]
    plain = split_sections(text, private, private)
    in_json = parse_json_sections(plain.text_outside)
    if in_json is not None:
        return in_json.get(SAY_TAG, "")
    if plain.ends_in_open_thought or plain.may_lack_words:
        return ""
    return plain.text_outside.strip()


def last_plan(parsed: ParsedAnswer) -> PlanChanged | None:
    """The last plan in an answer: that counts."""
    written = [payload for payload in parsed.payloads if payload.tag == TODO_UNTIL]
    if not written:
        return None
    steps = []
    for child in written[-1].children:
        if child.tag == "step" and child.text:
            done = child.attributes.get("done", "false").strip().casefold()
            states = (state for state, words in CLOSED.items() if done in words)
            steps.append((child.text, next(states, "open")))
    condition, title = (written[-1].attributes.get(name, "").strip() for name in ("condition", "title"))
    return PlanChanged(condition=condition, title=title, steps=tuple(steps))


def closes_new_step(plan: PlanChanged, before: Sequence[PlanChanged]) -> bool:
    """Return True if this plan closes a step that stood open in those before it and never was closed.

    A step in other words is the same one: then fewer steps than before are open, and more closed than ever.
    """
    opened, closed = set[str](), set[str]()
    for one in before:
        opened.update(map(normalized_text, one.open_steps))
        closed.update(map(normalized_text, one.closed_steps))
    now = set(map(normalized_text, plan.closed_steps))
    if opened & now - closed:
        return True
    if before and len(plan.open_steps) >= len(before[-1].open_steps):
        return False
    return len(plan.closed_steps) > max((len(one.closed_steps) for one in before), default=0)
