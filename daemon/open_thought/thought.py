"""Step of open thought: its question and the parsed answer.

People see only the final answer: it passes the speech gate, and must begin outside of code and quotations.
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
"""Values of the attribute `done` that mean a closed step; all others mean an open one."""


HIDES = rf"(?:^|(?<=>)){BEFORE_FENCE.pattern}(?P<fence>`{{3,}}(?=[^`<\n]*$)|~{{3,}})|<!--(?!.*?-->)"
"""Beginning of a code block or of a comment of several lines."""


COMMENT_ENDS = re.compile(".*?-->")


QUOTED = re.compile(r"\s{0,3}>")


SAYS_NOTHING = re.compile(
    rf"(?P<hides>{HIDES})|(?P<run>`+)(?!`)[^`\n]*(?P=run)|<!--.*?-->|<[\w-]+(?:\s[^<>]*)?/>"
)
"""Text that says nothing: inline code, comments, empty tags, and the beginnings of hidden parts."""


class FinalAnswerReader:
    """Reader of the final answer while the answer is streamed."""

    def __init__(self, slug: str) -> None:
        self._tag = f"{slug}-response"
        self._begins = re.compile(rf"<{re.escape(self._tag)}(?:\s[^<>]*)?>", re.IGNORECASE)
        private = [*self_tags(slug), *ROOT_TAGS]
        self._sections = SpeechGate([self._tag, *private], private)
        self.opened = False
        """True once the final answer has begun; code and quotations then belong to it."""
        self._line = ""
        self._ends: re.Pattern[str] | None = None

    @property
    def text(self) -> str:
        return self._sections.section_text(self._tag).strip()

    @property
    def began_again(self) -> bool:
        """True if the final answer began again after some text."""
        return self._sections.repeats

    def feed(self, delta: str) -> None:
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
        if self._line:
            self._take(self._line)
        self._sections.end()

    def _begins_apart(self) -> bool:
        if self._ends or "`" in SAYS_NOTHING.sub("", self._line):
            return True
        return bool(QUOTED.match(self._line) or re.search(HIDES, self._line))

    def _take(self, line: str) -> None:
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
        self._sections.feed(text)
        self.opened = self._sections.is_open(self._tag) or bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenThought:
    """Result of a step.

    `final` is the answer for people: perhaps broken off, or empty. `unfinished`: cut for length.
    `gives_away`: discarded, as it repeats private thoughts.
    """

    memory: WorkingMemory
    call: Entry[ModelCall]
    parsed: ParsedAnswer
    final: str = ""
    unfinished: bool = False
    gives_away: bool = False

    @property
    def is_usable(self) -> bool:
        return self.call.event.is_usable


class ThoughtStep:
    def __init__(
        self, turn: Turn, memory: WorkingMemory, slug: str, actions: Collection[str], *, plan_is_open: bool
    ) -> None:
        self._turn = turn
        self._slug = slug
        self._actions = actions
        self._plan_is_open = plan_is_open
        self._speaks = not Branches(turn).parent
        add_situation = with_situation if self._speaks else with_time
        self._question = StreamedQuestion(turn, add_situation(turn, memory))
        self._private = PrivateWords(self._question.memory, thinks=True)
        self._before = memory
        self.speech = self._question.speech

    def _reader(self) -> _FinalAnswerStream:
        return _FinalAnswerStream(self._slug, self._leaves_steps_open, self._private)

    def _leaves_steps_open(self, text: str) -> bool:
        plan = last_plan(parse_payloads(text, slug=self._slug, actions=self._actions))
        if plan is None:
            return self._plan_is_open
        return bool(plan.open_steps)

    async def ask(
        self, instruction: str, role: Role = "speak", *, alone: bool = False, private: bool = True
    ) -> OpenThought:
        """Ask, and stream the final answer. With `alone` ask for it alone; it may lack tags and is not
        streamed.

        Without `private`, earlier thoughts are left out.
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
            call = await self._question.ask(question, self._reader if aloud else None)
        event = call.event
        text = ""
        if event.is_usable:
            text = event.text
        final = final_answer_in(text, self._slug, alone=alone)
        if aloud and event.outcome == "cancelled":
            reader = self._reader()
            for piece in re.split("(?<=>)", event.text):  # plans after the final answer do not count
                reader.feed(piece)
            final = reader.spoken_so_far
        gives_away = self._speaks and self._private.are_in(final)
        if gives_away:
            report_odd_answer(self._turn, event.model, "private")
            final = ""
        return OpenThought(
            memory=self._before.with_memory(*self._question.memory.heard_since(self._before)),
            call=call,
            parsed=parse_payloads(text, slug=self._slug, actions=self._actions),
            final=final,
            gives_away=gives_away,
            unfinished=event.outcome == "cut" and f"</{self._slug}-response" not in text.lower(),
        )


class _FinalAnswerStream:
    """Reader that holds the final answer back while the plan has open steps."""

    def __init__(self, slug: str, leaves_steps_open: Callable[[str], bool], private: PrivateWords) -> None:
        self._final = FinalAnswerReader(slug)
        self._watch = HiddenWordsGuard(private)
        self._leaves_steps_open = leaves_steps_open
        self._before: list[str] = []
        self._may_speak: bool | None = None
        """True if the final answer may be spoken; None until it begins."""

    def feed(self, delta: str) -> None:
        self._final.feed(delta)
        if self._may_speak is not None:
            return
        self._before.append(delta)
        if self._final.opened:
            self._may_speak = not self._leaves_steps_open("".join(self._before))

    @property
    def spoken_so_far(self) -> str:
        if not self._may_speak:
            return ""
        return self._watch.safe_part(spoken_part_so_far(self._final.text))

    @property
    def is_complete(self) -> bool:
        """True if the final answer begins again or reveals a thought."""
        return self._final.began_again or self._watch.found


def final_answer_in(text: str, slug: str, *, alone: bool = False) -> str:
    """Return the final answer in a text; with `alone`, it may lack tags."""
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
    """True if the plan closes a step that was open before and never closed.

    A reworded step counts if fewer steps are open and more closed than ever.
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
