"""Open thought of the script, derived from the request alone, even the names of tags."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rehearsal.claude.asked import MESSAGE, THREAD
from rehearsal.claude.findings import alone, can_be_looked_up, found_out, put_together, spelt
from rehearsal.claude.phrasing import together, untagged
from rehearsal.claude.picking import FILES
from rehearsal.claude.prompt import Body, last_text, texts
from rehearsal.claude.task import ScriptTask, TaskPart, task_of, thinking
from rehearsal.claude.wanted import looked_for
from rehearsal.claude.wished import LOOKS

FINAL = re.compile(r"<(([a-z][a-z0-9-]*)-response)>")
SPAWNED = re.compile(r'<thread-spawned assigned_id="([^"]+)"')
COLLECTED = re.compile(r"<fan-out-complete ")
RESULT = re.compile(r'<result index="(\d+)">(.*?)</result>', re.S)
PLAN = "<todo-until"
TOGETHER = "Put it together"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationText:
    """Text of the conversation; `own`: written by the script."""

    own: bool
    text: str
    name: str = ""
    words: str = ""

    @property
    def by_person(self) -> bool:
        """True if from a person; actions report under their own names."""
        return bool(self.name) and not THREAD.match(self.name) and self.name not in LOOKS


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """Progress of a task; `branches` are in the order of its parts."""

    task: ScriptTask
    branches: tuple[str, ...]
    answers: Mapping[int, str]
    thoughts: tuple[str, ...]
    news: tuple[int, ...]
    """Parts answered since the last thought."""

    @property
    def awaited(self) -> Sequence[TaskPart]:
        begun = self.task.parts[: len(self.branches)]
        return [part for number, part in enumerate(begun) if number not in self.answers]


def deliberated(body: Body) -> str:
    """Return the next text of open thought; "" for other requests."""
    asks = last_text(body)
    found = FINAL.search(asks)
    every = _conversation(body)
    if not found or not every:
        return ""
    final, slug = found.groups()
    if not _by_people(every):
        return _branch(every, asks, final)
    return _next(_course(every, final), slug, final, only_final=f"<{slug}>" not in asks)


def _branch(every: Sequence[ConversationText], asks: str, final: str) -> str:
    """Write a branch's next text: a search for its question if possible, then the answer."""
    question = every[0].words
    if len(every) == 1 and f"<{FILES}>" in asks and can_be_looked_up(question):
        return f"I look it up.\n<{FILES}>{_element('query', ' '.join(looked_for(question)))}</{FILES}>"
    found = [html.unescape(said.words) for said in every if said.name == FILES]
    return _element(final, untagged(found_out(question, "\n".join(found))))


def _next(course: TaskProgress, slug: str, final: str, *, only_final: bool) -> str:
    several = len(course.task.parts) > 1
    if not several and not only_final:
        return _one_thing(course, slug, final)
    if not several:
        return _element(final, alone(course.task))
    if only_final:
        return _element(final, _whole(course))
    if not any(PLAN in thought for thought in course.thoughts):
        return _begin(course.task)
    if course.awaited:
        return _wait(course)
    return f"{_plan(course, ended=True)}\n{_element(final, _whole(course))}"


def _conversation(body: Body) -> list[ConversationText]:
    every = []
    for message in body["messages"]:
        for text in texts(message["content"]):
            said = ConversationText(own=message["role"] == "assistant", text=text)
            found = MESSAGE.match(text)
            if found and message["role"] == "user":
                said = replace(said, name=found["name"], words=found["words"].strip())
            every.append(said)
    return every[:-1]


def _by_people(every: Sequence[ConversationText]) -> list[int]:
    return [number for number, said in enumerate(every) if said.by_person]


def _course(every: Sequence[ConversationText], final: str) -> TaskProgress:
    ends = [number for number, said in enumerate(every) if said.own and f"<{final}>" in said.text]
    now = every
    if ends and _by_people(every[ends[-1] + 1 :]):
        now = every[ends[-1] + 1 :]
    task, since = _in_hand(every, now)
    branches = []
    for said in since:
        spawned = SPAWNED.match(said.text)
        if spawned:
            branches.append(spawned[1])
    answers: dict[int, str] = {}
    news: list[int] = []
    for said in since:
        came = _came(said, branches)
        answers |= came
        news += came
        if said.own:
            news.clear()
    return TaskProgress(
        task=task,
        branches=tuple(branches[: len(task.parts)]),
        answers=answers,
        thoughts=tuple(said.text for said in since if said.own),
        news=tuple(news),
    )


def _in_hand(
    every: Sequence[ConversationText], now: Sequence[ConversationText]
) -> tuple[ScriptTask, Sequence[ConversationText]]:
    """Return the last task set by a person and the texts since; without one, their last
    words are the task.
    """
    spoken = _by_people(now)
    for number in reversed(spoken):
        words, since = now[number].words, now[number + 1 :]
        task = task_of(words)
        if task and not task.parts:
            task = _meant(words, every[: len(every) - len(since) - 1])
        if task:
            return task, since
    last = spoken[-1]
    return thinking(now[last].words), now[last + 1 :]


def _meant(words: str, earlier: Sequence[ConversationText]) -> ScriptTask:
    """Return the task of a bare "think it through": that of the previous message."""
    before = _by_people(earlier)
    whole = words
    if before:
        whole = f"{earlier[before[-1]].words} {words}"
    return task_of(whole) or thinking(words)


def _came(said: ConversationText, branches: Sequence[str]) -> dict[int, str]:
    """Return branches' answers in this text, by number of part."""
    if said.own:
        return {}
    if said.name in branches:
        return {branches.index(said.name): said.words}
    if not COLLECTED.match(said.text):
        return {}
    came = dict.fromkeys(range(len(branches)), "")
    for index, words in RESULT.findall(said.text):
        came[int(index) - 1] = html.unescape(words).strip()
    return came


def _begin(task: ScriptTask) -> str:
    plan = _plan(TaskProgress(task=task, branches=(), answers={}, thoughts=(), news=()))
    opening = f"These are {len(task.parts)} things that do not depend on each other: a branch for each."
    if task.kind == "count":
        items = "".join(_element("item", part.question) for part in task.parts)
        return f'{opening}\n{plan}\n<fan-out collect="true">{items}</fan-out>'
    spawned = []
    for part in task.parts:
        payload = _element("initial-payload", part.question)
        spawned.append(f'<spawn-thread suggested_sub_id="{part.name}">{payload}</spawn-thread>')
    return "\n".join([opening, plan, *spawned])


def _wait(course: TaskProgress) -> str:
    missing = together([part.name for part in course.awaited])
    if not course.news:
        return f"I wait for {missing}."
    came = together([course.task.parts[number].name for number in sorted(course.news)])
    return f"That was {came}. I wait for {missing}.\n{_plan(course)}"


def _plan(course: TaskProgress, *, ended: bool = False) -> str:
    lines = [f'<todo-until title="{course.task.goal}" condition="each part has an answer">']
    for number, part in enumerate(course.task.parts):
        state = "cancelled" if ended else "false"
        if course.answers.get(number):
            state = "true"
        lines.append(f'<step done="{state}">{part.step}</step>')
    lines.append(f'<step done="{str(ended).lower()}">{TOGETHER}</step>')
    return "\n".join([*lines, "</todo-until>"])


def _whole(course: TaskProgress) -> str:
    answers = [course.answers.get(number, "") for number in range(len(course.task.parts))]
    return put_together(course.task, answers)


def _one_thing(course: TaskProgress, slug: str, final: str) -> str:
    """Write two notes to itself, then the answer."""
    taken = [thought for thought in course.thoughts if f"<{slug}>" in thought]
    if len(taken) > 1 or not course.task.parts:
        return _element(final, alone(course.task))
    [part] = course.task.parts
    if not taken:
        return f"This is one thing: I take it in two steps.\n{_element(slug, f'Spell it out: {part.name}')}"
    unit = "words" if course.task.kind == "think" else "letters"
    spelling = ", ".join(spelt(unit, part.name))
    return f"<thought>{spelling}</thought>\n{_element(slug, 'See what follows from that, then answer.')}"


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>"
