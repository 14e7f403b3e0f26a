"""Follow-ups addressed by a name at their start."""

from __future__ import annotations

from daemon.kinds import IncomingMessage, OverheardMessage
from daemon.slack.message_policy import SALUTATIONS
from rehearsal.people import BOB, CAROL, ECHO
from tests.slack.office import GENERAL, ME, Office

TO_BOB = f"<@{BOB.id}>"
FOR_THE_SOUL = (
    f"sum up what {TO_BOB} said",
    f"Can you sum up what {TO_BOB} said?",
    f"what about {TO_BOB}?",
    f"cc {TO_BOB}",
    f"Hi Claudius, did {TO_BOB} write?",
    f"Claudius: {TO_BOB} says that it is red",
    f"{TO_BOB}'s plan is the second one. Which is mine?",
    f"{TO_BOB}\u2019s plan?",
    f"&gt; {TO_BOB} said so\nIs it true?",
    f"ask {TO_BOB} and <@{CAROL.id}>",
    f"Wie findest du, was {TO_BOB} geschrieben hat?",
    f"我想知道{TO_BOB}说了什么",
    "<!here> any ideas?",
    "<!subteam^S1|@crew> any ideas?",
    "hi all",
    "@Bob without a mention",
)
FOR_BOB = (
    f"{TO_BOB} can you check that?",
    f"  *{TO_BOB}*, and you, <@{CAROL.id}>?",
    f"<@{BOB.id}|bob>: please",
    f"hi {TO_BOB}",
    f"Hey, {TO_BOB}:",
    f":wave: Hello {TO_BOB}!",
    f":wave::skin-tone-3: 👋🏽 {TO_BOB}",
    f"Guten Morgen {TO_BOB}!",
    f"thanks {TO_BOB}!",
    f"Thank you so much, {TO_BOB}. Claudius can wait",
    f"Hi! Good morning, {TO_BOB}",
    f"Buenos días {TO_BOB}, ¿qué tal?",
    f"ΚΑΛΗΜΈΡΑ {TO_BOB}",
    f"नमस्ते {TO_BOB}",
    f"你好{TO_BOB} 请看一下",
    f"こんにちは、{TO_BOB}さん",
    f"(merci, {TO_BOB})",
    f"<@{ECHO.user}> status",
)


async def test_a_follow_up_is_for_somebody_else_only_where_it_begins_with_their_mention(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    for text in (*FOR_THE_SOUL, *FOR_BOB):
        await here.say("alice", GENERAL, text, root)
    _, *said = here.entries(IncomingMessage)
    assert {entry.event.address for entry in said} == {"follow-up"}
    assert len(said) == len(FOR_THE_SOUL), [entry.event.text for entry in said]
    assert len(here.entries(OverheardMessage)) == len(FOR_BOB), [
        entry.event.text for entry in here.entries(OverheardMessage)
    ]


async def test_a_message_to_somebody_else_that_mentions_the_soul_is_for_it(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("alice", GENERAL, f"{TO_BOB} and {ME}: which of you?", root)
    assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "mention"]


async def test_every_salutation_of_the_table_makes_a_message_somebody_elses(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    for words in sorted(SALUTATIONS)[::20]:
        await here.say("alice", GENERAL, f"{words.replace('_', ' ').title()}, {TO_BOB}: now?", root)
    assert len(here.entries(IncomingMessage)) == 1
    assert {entry.event.text.endswith("@Bob: now?") for entry in here.entries(OverheardMessage)} == {True}
