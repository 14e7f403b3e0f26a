"""`!forget me` removes all words of a person."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from aiohttp import ClientSession

from daemon.app.journal_commands import verify_journal
from daemon.app.wiring import make_index
from daemon.engine.event import entry_as_json
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from tests.signed_in import SHOWN
from tests.stories.choosing import FAST, IDS, pressed
from tests.stories.stage import ALICE, BOB, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.test_deep_reading import READING, wanting
from tests.stories.test_reading import cell

BEES = "I keep forty beehives behind the old windmill in Zinnwald"
NOTED = "- keeps beehives behind the windmill in Zinnwald"
CONTENT = re.compile(r"/:([0-9a-f]{12})#")
"""Name of a context in a key, derived from its content."""
SECRETS = ("beehives", "windmill", "Zinnwald")
"""Words of Alice only."""


def learned(say: str, aside: str = "Beehives behind a windmill!") -> str:
    return f"{reply(say, aside)}\n<learned>yes</learned>"


async def lived(stage: Stage) -> str:
    stage.model.say(learned("Forty beehives, by the windmill!"))
    stage.model.say(NOTED, model=FAST)
    await stage.say("alice", ALICE, BEES)
    stage.model.say(learned("Zinnwald is lovely."))
    stage.model.say(NOTED, model=FAST)
    root = await stage.say("alice", GENERAL, f"{ME} {BEES}")
    stage.model.say(reply("She said so: beehives, behind the windmill."))
    await stage.say("bob", GENERAL, f"{ME} what did she say?", root)
    stage.model.say(learned("A sailor!", "Hm."))
    stage.model.say("- sails a catamaran on the Baltic", model=FAST)
    await stage.say("bob", BOB, "I sail a catamaran on the Baltic every summer")
    return root


async def indexed(stage: Stage) -> None:
    await stage.sleep()
    async with Journal(stage.home / "journal.db", stage.clock, SOUL_KINDS) as journal:
        with make_index(journal) as index:
            assert await index.update()
    assert "journal.index.db: Zinnwald" in traces(stage, *SECRETS), "of the others only their stems are in it"
    await stage.wake()


async def forgotten(stage: Stage, name: str = "alice", channel: str = ALICE) -> str:
    root = await stage.say(name, channel, "!forget me")
    await pressed(stage, name, "Forget it")
    await until_told(stage)
    return root


async def until_told(stage: Stage) -> None:
    await stage.until(lambda: not stage.pending("to-forget", "forgotten"))
    await stage.settled()


def traces(stage: Stage, *secrets: str) -> list[str]:
    found = []
    for file in sorted(stage.home.rglob("*")):
        if file.is_file():
            data = file.read_bytes().lower()
            found += [f"{file.name}: {secret}" for secret in secrets if secret.lower().encode() in data]
    return found


async def test_nothing_is_left_of_what_they_said_and_all_goes_on(stage: Stage) -> None:
    await lived(stage)
    await indexed(stage)
    root = await forgotten(stage)
    assert traces(stage, *SECRETS) == []
    told = str([entry_as_json(entry) for entry in stage.entries()])
    assert not [secret for secret in SECRETS if secret in told]
    assert not verify_journal(stage.soul.journal).violations
    assert "catamaran" in told, "Bob's memory stays"
    asked, begun, done = await stage.answers(ALICE, root)
    assert "cannot reach" in asked
    assert "In Slack all stands as before" in done
    assert "cannot reach stays where it is: backups and exports" in done
    assert "when it is done" in begun


async def test_no_later_prompt_holds_it_and_a_new_prefix_begins_visibly(stage: Stage) -> None:
    root = await lived(stage)
    await forgotten(stage)
    for name, channel, thread in (("alice", ALICE, None), ("bob", GENERAL, root), ("bob", BOB, None)):
        stage.model.say(reply("Yes?"))
        words = "hello again" if channel != GENERAL else f"{ME} hello again"
        await stage.say(name, channel, words, thread)
        asked = stage.asked()[-1]
        assert not [secret for secret in SECRETS if secret in asked]
        assert ('context-cleared reason=\\"forgotten\\"' in asked or "context-cleared" in asked) == (
            channel == GENERAL
        )
        if channel == BOB:
            assert "catamaran" in asked
    assert not verify_journal(stage.soul.journal).violations


async def test_what_slack_still_holds_does_not_come_back(stage: Stage) -> None:
    await lived(stage)
    await forgotten(stage)
    await stage.sleep()
    await stage.wake()
    await stage.settled()
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    assert traces(stage, *SECRETS) == []


async def test_what_slack_sends_again_does_not_come_back_with_its_file(stage: Stage) -> None:
    shared = {"subtype": "file_share", "files": [{"id": "F1", "name": "Zinnwald.pdf"}]}
    said = {"token": "xoxp-alice", "channel": ALICE, "text": BEES, **shared}
    await stage.session.post(f"{stage.url}/rehearsal/message", json=said)
    await stage.settled()
    await forgotten(stage)
    sent = stage.world.workspace.courier.deliveries()[0]["event_id"]
    await stage.session.post(f"{stage.url}/rehearsal/event", json={"again": sent})
    await stage.settled()
    assert traces(stage, *SECRETS) == []


async def test_nor_does_what_comes_late(stage: Stage) -> None:
    root = await stage.say("alice", GENERAL, f"{ME} hello")
    edited = {"user": IDS["alice"], "text": BEES, "ts": root, "edited": {"ts": f"{stage.clock.now():.6f}"}}
    edit = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "message": edited}
    lunch = await stage.post("bob", RANDOM, "lunch?")
    call = {"channel": RANDOM, "user": IDS["bob"], "text": f"{ME} well?", "thread_ts": lunch}
    called = {"type": "message", "ts": f"{stage.clock.now() + 1:.6f}", **call}
    await stage.clock.advance(2)
    await stage.say("alice", RANDOM, BEES, lunch)
    await forgotten(stage)
    for late in (edit, called):
        await stage.session.post(f"{stage.url}/rehearsal/event", json={"event": late})
    await stage.settled()
    assert len(stage.entries("message")) == 3, "Bob is answered"
    assert traces(stage, *SECRETS) == []


async def test_what_was_never_heard_is_not_read_in_slack_afterwards(stage: Stage) -> None:
    root = await stage.post("alice", RANDOM, BEES)
    await stage.post("bob", RANDOM, "How odd, I sail", root)
    await stage.settled()
    await forgotten(stage)
    stage.model.say(reply("Aye."))
    await stage.say("bob", RANDOM, f"{ME} what do you think?", root)
    assert "How odd" in stage.asked()[-1]
    assert not [secret for secret in SECRETS if secret in stage.asked()[-1]]
    opened = stage.soul.journal.get(f"thread:T0REHEARSAL:{RANDOM}:{root}")
    assert opened
    [document] = await stage.soul.slack.shelf.thread(opened.thread, stage.clock.now() + 60)
    assert "How odd" in str(document)
    assert not [secret for secret in SECRETS if secret in str(document)]


async def test_nothing_is_left_of_a_reading_whose_answer_quotes_them(stage: Stage) -> None:
    await stage.post("carol", GENERAL, "nothing of note " * 60)
    stage.model.say(reply("Fine."))
    await stage.say("alice", GENERAL, f"{ME} {BEES}")
    await stage.sleep()
    await stage.wake(rlm_threshold_tokens=0)
    stage.model.say(READING)
    stage.model.say(wanting("What is kept?", "channel", names=["#general"]))
    stage.model.say(cell("FINAL([line for line in context['#general'].split('\\n') if 'behind' in line])"))
    stage.model.say(reply("Bees."))
    await stage.say("bob", BOB, "what is kept, by #general?")
    assert "beehives" in stage.entries("reading-ended")[0].event.answer
    await forgotten(stage)
    assert traces(stage, *SECRETS) == []


def hashes(stage: Stage, seqs: Collection[int] = ()) -> set[bytes]:
    found = set[bytes]()
    for row, digest in stage.soul.journal.all_rows_with_digests():
        if seqs and row[0] not in seqs:
            continue
        assert isinstance(digest, bytes)
        fields = json.loads(row[4])
        told = {fields.get("fingerprint", ""), fields.get("saw", ""), *CONTENT.findall(row[5])}
        found |= {digest, digest.hex().encode(), *(str(one).encode() for one in told)}
    return found - {b"", b"forgotten"}


def left(stage: Stage, hashes: Collection[bytes]) -> set[bytes]:
    data = b"".join(file.read_bytes() for file in stage.home.rglob("*") if file.is_file())
    return {one for one in hashes if one in data}


async def test_no_hash_of_it_is_left_in_any_file(stage: Stage) -> None:
    await lived(stage)
    await stage.sleep()
    await stage.wake(rlm_threshold_tokens=0)
    stage.model.say(READING)
    stage.model.say(wanting("What is kept?", "channel", names=["#general"]))
    stage.model.say(cell("FINAL(llm_query('Which?\\n' + context['#general']))"))
    stage.model.say("Forty beehives behind the old windmill in Zinnwald.", model=FAST)
    stage.model.say(reply("Bees."))
    await stage.say("alice", ALICE, "what is kept, by #general?")
    before = hashes(stage)
    names = [name for entry in stage.entries() for name in CONTENT.findall(entry.key)]
    assert names, "a question of the reading is named by its words"
    await forgotten(stage)
    gone = {entry.seq for entry in stage.entries() if entry.forgotten}
    stay = hashes(stage)
    assert len(before - stay) > 40
    assert left(stage, before - stay) == set()
    assert left(stage, [name.encode() for name in names]) == set()
    assert not [entry for entry in stage.entries() if entry.seq in gone and CONTENT.search(entry.key)]
    assert verify_journal(stage.soul.journal).violations == []
    await stage.sleep()
    await stage.wake()
    await stage.settled()
    assert left(stage, before - stay) == set(), "nor does the next start write one"


async def test_the_page_shows_none_of_it(stage: Stage) -> None:
    root = await lived(stage)
    assert SECRETS[0] in await streamed(stage), "as it was shown before"
    await forgotten(stage)
    calls = [entry.seq for entry in stage.entries("model-call")]
    async with ClientSession(headers=SHOWN) as session:
        pages = [f"/console/threads/T0REHEARSAL:{GENERAL}:{root}", *(f"/console/calls/{n}" for n in calls)]
        for page in pages:
            answer = await session.get(f"{stage.soul.url}{page}")
            shown = await answer.text()
            assert not [secret for secret in SECRETS if secret in shown], page
    text = await streamed(stage)
    assert not [secret for secret in SECRETS if secret in text]


async def streamed(stage: Stage) -> str:
    text, last = "", f"id: {stage.soul.journal.last_seq_of_all()}\n"
    async with ClientSession(headers=SHOWN) as session:
        stream = await session.get(f"{stage.soul.url}/console/journal?since=0")
        async for line in stream.content:
            text += line.decode()
            if last in text and line == b"\n":
                break
        stream.close()
    return text


async def test_who_does_not_confirm_is_not_forgotten(stage: Stage) -> None:
    await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    await pressed(stage, "alice", "Keep it")
    await stage.settled()
    assert traces(stage, *SECRETS)
    assert not stage.entries("to-forget", "forgotten")


async def test_nobody_can_have_somebody_else_forgotten(stage: Stage) -> None:
    await lived(stage)
    await forgotten(stage, "bob", BOB)
    assert traces(stage, "catamaran") == []
    assert traces(stage, *SECRETS), "only Bob is forgotten"
    told = str([entry_as_json(entry) for entry in stage.entries("message")])
    assert "beehives" in told
