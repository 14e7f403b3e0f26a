"""How a body asks and waits: the turn ends, and the body runs again when the answer comes. Called by turn.py.

See "Looking up" in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.entry import Entry, rank
from daemon.errors import Parked, SpeechFailed
from daemon.life.voice import Voice
from daemon.mind.recall import plain, recall, remember
from daemon.ports import Choices
from daemon.process import Answered, Question

PATIENT = 8
"""Failures of a turn, some minutes, after which buttons are left standing."""


async def ask(turn: Voice, took: Sequence[Entry], name: str, question: Question) -> Answered:
    """Ask; read the answer back, or take it from what this turn `took`, or leave the turn with Parked."""
    if question.to and not question.resumes and not question.text.strip():
        raise ValueError("a question that someone is to answer needs words")
    key = turn.key(name)
    buttons = Choices(asked=key, choices=tuple(question.choices)) if question.choices else None
    spoken = await turn.speech_at(f"{key}/say#1").close(question.text, buttons) if question.text else ()
    asked = turn.read(key) or await turn.append("asked", _body(turn, question, spoken), key=key)
    if question.wait is not None:
        await _watch(turn, asked, question)
    answer = turn.read(f"{key}/answer") or await _answer(turn, took, asked, question)
    if answer is None:
        raise Parked(key)
    turn.moment = answer.at
    await settle(turn, asked, answer.body["text"])
    return _answered(turn, asked, answer)


def _body(turn: Voice, question: Question, spoken: Sequence[Entry]) -> dict[str, object]:
    return {
        "text": question.text,
        "to": list(question.to),
        "owners": list(question.owners),
        "choices": [choice.value for choice in question.choices],
        "words": bool(question.to) and not (question.choices or question.resumes),
        "resumes": question.resumes,
        "body": turn.path,
        "about": dict(question.about),
        "said": [entry.seq for entry in spoken],
    }


async def _watch(turn: Voice, asked: Entry, question: Question) -> None:
    key = f"{asked.key}/watch"
    if not turn.read(key):
        why = question.about if "failure" in question.about else {}
        due = turn.world.clock.now() + (question.wait or 0.0)
        body = {**why, "due": due, "answers": asked.key}
        await turn.append("watch", body, key=key, cause=asked.seq)


async def _answer(turn: Voice, took: Sequence[Entry], asked: Entry, question: Question) -> Entry | None:
    """The answer that this turn took, with what the thread kept meanwhile."""
    if turn.began.body.get("asked") != asked.seq:
        return None
    first = next((entry for entry in took if entry.author in question.to), took[0])
    pressed = first.body.get("value", "")
    value = pressed if rank(first) == "answer" else first.body.get("text", "")
    labels = {choice.value: choice.label for choice in question.choices}
    words = f"[{plain(await _name(turn, first))} chose “{labels.get(pressed, pressed)}”]" if pressed else ""
    body = {
        "value": value,
        "by": first.author if rank(first) != "resume" else "",
        "text": words,
        "meanwhile": _meanwhile(turn, asked),
        "seqs": [entry.seq for entry in took if rank(entry) in ("message", "stop")],
        "about": asked.body["about"],
    }
    closes = [seq for seq in (asked.seq, *_watches(turn, asked)) if turn.world.journal.is_open(seq)]
    answered = await turn.append(
        "answered", body, key=f"{asked.key}/answer", author=first.author, cause=first.seq, closes=closes
    )
    turn.world.budget.spent(answered)
    return answered


async def _name(turn: Voice, press: Entry) -> str:
    """What whoever pressed is called: a press is committed before anybody could be asked."""
    return await turn.world.speaker.name(press.author) or str(press.body["name"])


def _meanwhile(turn: Voice, asked: Entry) -> list[int]:
    """What other bodies kept in this thread since the question, as it stands by now, and what was heard."""
    journal, past = turn.world.journal, turn.world.pasts.of(turn.thread, turn.began.seq)
    ended = journal.of(turn.thread, "turn-ended", since=asked.seq)
    others = [entry for entry in ended if journal.at(entry.cause or 0).body["path"] != turn.path]
    theirs = {seq for entry in others for seq in entry.body["keep"]}
    kept = [memory.seq for memory in past.kept if memory.seq]
    summed_up = [seq for seq in kept if seq > asked.seq and journal.at(seq).kind == "context-cleared"]
    return [*summed_up, *(seq for seq in kept if seq in theirs), *(entry.seq for entry in past.heard)]


def _watches(turn: Voice, asked: Entry) -> list[int]:
    watch = turn.read(f"{asked.key}/watch")
    return [watch.seq] if watch else []


async def settle(turn: Voice, asked: Entry, answer: str) -> None:
    """The buttons of a question go, and who chose what stands there instead. A nicety: it holds up nobody."""
    if not (asked.body["choices"] and asked.body["said"]):
        return
    spoken = turn.world.journal.at(asked.body["said"][-1])
    text, ts = f"{spoken.body['text']}\n{answer}".strip(), spoken.body["ts"]

    async def rewrite() -> str:
        try:
            return await turn.world.speaker.finish(turn.thread, ts, text, f"{asked.key}/say#1", turn.hold)
        except SpeechFailed as failure:
            before = turn.world.journal.under(turn.began.key.removesuffix("/began"))
            if sum(entry.kind == "failure" for entry in before) < PATIENT:
                raise
            return str(failure)

    await turn.effect(f"settle-{asked.seq}", {"ts": ts}, rewrite, repeatable=True)


def _answered(turn: Voice, asked: Entry, answer: Entry) -> Answered:
    body, many = answer.body, turn.world.journal.many
    told = recall(many([*asked.body["said"], *body["meanwhile"], *body["seqs"]]))
    words = (remember(answer),) if body["text"] else ()
    more = bool(body["meanwhile"])
    return Answered(value=body["value"], by=body["by"], memories=(*told, *words), more=more)


async def withdraw(turn: Voice) -> int:
    """Nobody needs to answer what waits in this thread; the bodies that asked end with this. How many?

    What this turn has taken it pays itself.
    """
    journal, key, mine = turn.world.journal, turn.key("withdrawn"), turn.began.body["took"]
    if not (withdrawn := turn.read(key)):
        waiting = [entry.seq for entry in journal.open("asked", thread=turn.thread)]
        watches = [
            watch.seq
            for watch in journal.open("watch", thread=turn.thread)
            if watch.cause in waiting or ("carries" in watch.body and watch.seq not in mine)
        ]
        withdrawn = await turn.append("withdrawn", {"seqs": waiting}, key=key, closes=[*waiting, *watches])
    for asked in journal.many(withdrawn.body["seqs"]):
        await settle(turn, asked, "")
    return len(withdrawn.closes)
