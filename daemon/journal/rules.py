"""What must be true of each entry, as far as the entries before it tell: the rules that verify.py applies.

A rule is given the ledger as it was before the entry; it yields whom it concerns, and a plain sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from daemon.entry import OPENERS, Entry, rank
from daemon.journal.ledger import Ledger
from daemon.journal.shape import SEQS

Findings = Iterator[tuple[int, str]]
Rule = Callable[[Ledger, Entry], Findings]

PAYERS: Mapping[str, frozenset[str]] = {
    "perception": frozenset({"turn-ended"}),
    "turn-began": frozenset({"turn-ended"}),
    "speech": frozenset({"spoken", "unsaid", "turn-ended"}),
    "action": frozenset({"observation", "turn-ended"}),
    "watch": frozenset({"perception", "turn-ended", "answered", "withdrawn"}),
    "asked": frozenset({"answered", "withdrawn", "turn-ended"}),
}
"""Which kinds pay a debt; a turn pays speech and actions only where it is abandoned."""
RECEIPTS = {"speech-started": "speech", "spoken": "speech", "unsaid": "speech", "observation": "action"}
"""Kinds that tell what became of another entry, and of which kind that is."""
STEPS = frozenset(
    {"model-call", "speech", "action", "transition", "mood", "failure", "drift", "log", *RECEIPTS}
    | {"look", "asked", "answered", "withdrawn", "limit", "outage"}
    | {"ism", "ism-ended", "note", "person", "context-cleared"}
)
"""Kinds that only a turn writes."""


def cause(ledger: Ledger, entry: Entry) -> Findings:
    """The one entry without which this one would not exist was there before it."""
    if entry.cause is not None and not ledger.kind(entry.cause):
        yield entry.seq, f"its cause, {entry.cause}, is not there"


def closes(ledger: Ledger, entry: Entry) -> Findings:
    """What is paid is a debt, and of those that this kind of entry can pay."""
    for seq in entry.closes:
        kind = ledger.kind(seq)
        if not kind:
            yield entry.seq, f"it pays {seq}, which is not there"
        elif entry.kind not in PAYERS.get(kind, ()):
            yield entry.seq, f"it pays {seq}, but no {entry.kind} pays a {kind}"


def doubled(ledger: Ledger, entry: Entry) -> Findings:
    """A debt is paid once."""
    for n, seq in enumerate(entry.closes):
        if ledger.kind(seq) in OPENERS and (seq in entry.closes[:n] or not ledger.is_owed(seq)):
            yield entry.seq, f"it pays {seq} once more: that {ledger.kind(seq)} was paid before"


def refers(ledger: Ledger, entry: Entry) -> Findings:
    """What a body lists was there before it, in the same conversation."""
    root = entry.thread.partition(".")[0]
    for name in SEQS:
        for seq in entry.body.get(name) or ():
            there = ledger.thread(seq)
            if not there:
                yield entry.seq, f"its {name} names {seq}, which is not there"
            elif there.partition(".")[0] != root:
                yield entry.seq, f"its {name} names {seq}, which belongs to {there}"


def texts(ledger: Ledger, entry: Entry) -> Findings:
    """The owner's texts that were used are in the journal, as they were."""
    body, used = entry.body, list[object]()
    match entry.kind:
        case "text":
            sha = hashlib.sha256(body["text"].encode(errors="surrogatepass")).hexdigest()
            if entry.key != f"text:{sha}":
                yield entry.seq, f"its key is {entry.key}, but its text gives {sha}"
        case "turn-began":
            used = [*body["texts"].values()]
        case "model-call":
            used = [*body["texts"], *body["wording"].values()]
    yield from ((entry.seq, f"the text {sha} is not there") for sha in used if str(sha) not in ledger.texts)


def thread(ledger: Ledger, entry: Entry) -> Findings:
    """A conversation is opened by one entry, before all else that is said in it."""
    known = entry.thread in ledger.places
    if entry.kind == "thread" and known:
        yield entry.seq, f"it opens {entry.thread}, which is open"
    if entry.kind != "thread" and entry.thread.startswith("sess-") and not known:
        yield entry.seq, f"{entry.thread} was never opened"


def turn(ledger: Ledger, entry: Entry) -> Findings:
    """One turn at a time in a thread, over what waits there; each ends once, and is resumed in order."""
    half = ledger.halves.get(entry.thread)
    if entry.kind == "turn-began":
        if half:
            yield entry.seq, f"it begins while the turn {half.began} of its thread has not ended"
        if entry.cause not in entry.body["took"]:
            yield entry.seq, f"it does not take {entry.cause}, which it was begun for"
        for seq in entry.body["took"]:
            if ledger.kind(seq) not in ("perception", "watch") or not ledger.is_owed(seq):
                yield entry.seq, f"it takes {seq}, which does not wait"
    elif entry.kind == "turn-resumed":
        if not half or half.began != entry.cause:
            yield entry.seq, f"it resumes {entry.cause}, which is no half turn of its thread"
        elif entry.body["attempt"] != half.attempt + 1:
            yield entry.seq, f"it is attempt {entry.body['attempt']}, after attempt {half.attempt}"
    elif entry.kind == "turn-ended" and (not half or half.began not in entry.closes):
        yield entry.seq, "it ends no turn: none is half in its thread, or it is another one"


def answered(ledger: Ledger, entry: Entry) -> Findings:
    """A turn pays all that it took, and no other message; one that is let go leaves it to a fresh body."""
    half = ledger.halves.get(entry.thread)
    if half and entry.kind == "turn-ended" and entry.body["outcome"] != "let-go":
        mine = half.seen.union(half.took)
        more = [seq for seq in entry.closes if ledger.kind(seq) == "perception" and seq not in mine]
        yield from ((entry.seq, f"it pays {seq}, which its turn did not take") for seq in more)
        left = [seq for seq in half.took if seq not in entry.closes and ledger.is_owed(seq)]
        yield from ((seq, f"it was taken by a turn that ended with {entry.seq}, unanswered") for seq in left)


def receipt(ledger: Ledger, entry: Entry) -> Findings:
    """A receipt is one of what it names as its cause, and pays it; at a turn's end none is missing."""
    if told := RECEIPTS.get(entry.kind):
        if ledger.kind(entry.cause or 0) != told:
            yield entry.seq, f"it is about {entry.cause}, which is no {told}"
        elif entry.kind != "speech-started" and entry.cause not in entry.closes:
            yield entry.seq, f"it does not pay {entry.cause}, the {told} that it is about"
    if entry.kind == "turn-ended":
        for seq, kind in ledger.owed[entry.thread].items():
            if kind in ("speech", "action") and seq not in entry.closes:
                yield seq, f"this {kind} has no receipt, and its turn ended with {entry.seq}"


def step(ledger: Ledger, entry: Entry) -> Findings:
    """What only a turn writes is written by the half turn of its thread, under that turn's path."""
    half = ledger.halves.get(entry.thread)
    if entry.kind in STEPS and not (half and entry.key.startswith((f"{half.path}/", f"{half.id}/"))):
        yield entry.seq, f"a {entry.kind} outside of the turn that its key names"


def woke(ledger: Ledger, entry: Entry) -> Findings:
    """A perception that carries others, or resumes a body, is what a watch became, and pays that watch."""
    pays = ledger.kind(entry.cause or 0) == "watch" and entry.closes == (entry.cause,)
    if entry.kind == "perception" and ("carries" in entry.body or rank(entry) == "resume") and not pays:
        yield entry.seq, "it carries what waited, but pays no watch"


def stamp(ledger: Ledger, entry: Entry) -> Findings:
    """A message in Slack is claimed by one speech, and a speech is one message."""
    if entry.kind in ("speech-started", "spoken"):
        claimer = ledger.claimed.get(ledger.where(entry), entry.cause)
        if claimer != entry.cause:
            yield entry.seq, f"the message {entry.body['ts']} is claimed by the speech {claimer}, too"
        if (ts := ledger.stamps.get(entry.cause or 0, entry.body["ts"])) != entry.body["ts"]:
            yield entry.seq, f"its speech, {entry.cause}, is the message {ts}, and not {entry.body['ts']}"


RULES: tuple[Rule, ...] = (
    *(cause, closes, doubled, refers, texts, thread),
    *(turn, answered, receipt, step, woke, stamp),
)
