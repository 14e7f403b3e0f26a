"""Earlier thoughts, never repeated word for word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from unicodedata import normalize

import pytest

from daemon.prompts.elements import UNSUFFIXED_TAGS
from tests.soak import later
from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_model_away import details
from tests.stories.test_open_thought import final, goes_on, sentence, thinks

THOUGHT = "I was thinking about the ferry replacement, and it seems like a difficult decision for Bob."
RUN = "ferry replacement"
"""Part of the thought."""
LEAK = "Well: I was thinking about the ferry replacement and it seems like a difficult decision."

WRITTEN: dict[str, Callable[[str], str]] = {
    "accents of their own": lambda text: normalize("NFD", text),
    "entities": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "gaps as entities": lambda text: text.replace(" ", "&nbsp;"),
}


def thought(say: str = "It leaves at nine.") -> str:
    return reply(say, aside=THOUGHT)


def said(stage: Stage, words: str) -> str:
    return stage.tags.wrapped("say", words)


def shown(stage: Stage) -> str:
    return "".join(str(told.get("markdown_text", "")) for _, told in stage.wire.calls)


async def reads(stage: Stage, ts: str, words: str) -> str:
    for _ in range(40):
        await stage.clock.advance(1)
        last = ["", *await stage.answers(ALICE, ts)][-1]
        if words in last:
            return last
    raise AssertionError(last)


async def with_thought(stage: Stage) -> str:
    stage.model.say(thought())
    return await stage.say("alice", ALICE, "When does it leave?")


@pytest.mark.parametrize("chunk", [1, 7, None])
async def test_a_thought_of_before_that_would_be_said_is_asked_for_anew_without_it(
    stage: Stage, chunk: int | None
) -> None:
    ts = await with_thought(stage)
    stage.model.say(reply(LEAK, aside="Hm."), chunk=chunk)
    stage.model.say("<say>That stays with me.</say>")
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    assert await stage.answers(ALICE, ts) == ["It leaves at nine.", "That stays with me."]
    assert RUN not in shown(stage)
    first, second = list(stage.model.requests)[-2:]
    assert THOUGHT in str(first["messages"])
    assert THOUGHT not in str(second["messages"])
    assert "It leaves at nine." in str(second["messages"]), "what was said is shown"
    stage.model.say(reply("Ten."))
    await stage.say("alice", ALICE, "And the next one?", ts)
    assert THOUGHT in str(stage.model.requests[-1]["messages"]), "the soul itself remembers it"
    assert LEAK not in str(stage.model.requests[-1]["messages"])


async def test_the_stream_is_closed_as_soon_as_the_run_is_whole(stage: Stage) -> None:
    ts = await with_thought(stage)
    stage.model.say(f"<aside>Hm.</aside><say>{LEAK} {'And so on. ' * 300}</say>", chunk=9)
    stage.model.say("<say>No.</say>")
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    leaked = stage.entries("model-call")[-2].event
    assert (leaked.outcome, leaked.stop_reason) == ("ok", "stop_sequence")
    assert leaked.text.count("And so on") < 9, "nobody waited for the rest"
    assert leaked.usage.output == len(leaked.text) // 3, "it is counted as one that was stopped"
    [report] = (await details(stage))["reports"]
    assert "repeated a private thought of the soul" in report["sentence"]


async def test_where_it_comes_again_there_is_an_apology(stage: Stage) -> None:
    ts = await with_thought(stage)
    stage.model.say(reply(LEAK, aside="Hm."))
    stage.model.say(f"<say>{LEAK}</say>")
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    assert (await stage.answers(ALICE, ts))[1:] == [sentence(stage, "lost_words")]
    assert RUN not in shown(stage)
    stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hello", ts)
    assert LEAK not in str(stage.model.requests[-1]["messages"])


async def test_a_plain_question_after_an_aside_alone_shows_no_private_section(stage: Stage) -> None:
    ts = await with_thought(stage)
    stage.model.say("<aside>I will not repeat that.</aside>")
    stage.model.say(LEAK)  # as the weak model did
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    assert THOUGHT not in str(stage.model.requests[-1]["messages"])
    assert (await stage.answers(ALICE, ts))[1:] == [sentence(stage, "lost_words")]
    assert RUN not in shown(stage)


async def test_ordinary_speech_is_not_held_back(stage: Stage) -> None:
    ts = await with_thought(stage)
    held = asyncio.Event()
    said = "I was thinking of lunch, and the ferry"
    stage.model.say(
        f"<aside>Hm.</aside><say>{said} can wait.</say>",
        until=held,
        first=len(f"<aside>Hm.</aside><say>{said}"),
    )
    await stage.post("alice", ALICE, "And now?", ts)
    await stage.passing(1, lambda: said in shown(stage))
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[1:] == [f"{said} can wait."]


async def test_what_may_become_a_run_is_held_back_from_its_third_word(stage: Stage) -> None:
    ts = await with_thought(stage)
    held = asyncio.Event()
    said = "So: I was thinking about the ferry repl"
    begun = f"<aside>Hm.</aside><say>{said}"
    stage.model.say(f"{begun}ica.</say>", until=held, first=len(begun), chunk=1)
    await stage.post("alice", ALICE, "And now?", ts)
    assert (await reads(stage, ts, "So: I was")).strip() == "So: I was"
    await stage.clock.advance(5)
    assert "think" not in shown(stage)
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[1:] == [f"{said}ica."]


@pytest.mark.parametrize("marked", [True, False])
async def test_the_example_of_our_form_is_held_back_while_it_comes(stage: Stage, marked: bool) -> None:
    held = asyncio.Event()
    tags = stage.tags if marked else UNSUFFIXED_TAGS
    begun = f"{tags.opening('say')}Well: take the late boat, Ottoline: by th"
    whole = f"{begun}en the wind has dropped.{tags.closing('say')}"
    stage.model.say(whole, until=held, first=len(begun), chunk=1)
    stage.model.say(reply("At nine."))
    ts = await stage.post("alice", ALICE, "When does it leave?")
    await reads(stage, ts, "Well: take")
    await stage.clock.advance(5)
    assert "Ottoline" not in shown(stage)
    held.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["At nine."]
    assert "Ottoline" not in shown(stage)


async def test_words_that_people_said_may_be_said(stage: Stage) -> None:
    stage.model.say(reply("It leaves at nine.", aside=f"Alice says: {THOUGHT}"))
    ts = await stage.say("alice", ALICE, f"This is the text: {THOUGHT}")
    stage.model.say(reply(THOUGHT))
    await stage.say("alice", ALICE, "Read it back to me.", ts)
    assert (await stage.answers(ALICE, ts))[1:] == [THOUGHT]


async def test_words_that_it_said_aloud_before_may_be_said_again(stage: Stage) -> None:
    stage.model.say(reply(THOUGHT, aside=f"I shall say: {THOUGHT}"))
    ts = await stage.say("alice", ALICE, "What do you think?")
    stage.model.say(reply(THOUGHT))
    await stage.say("alice", ALICE, "Once more?", ts)
    assert await stage.answers(ALICE, ts) == [THOUGHT, THOUGHT], (
        "and a draft in the same answer is none of it"
    )


@pytest.mark.parametrize(
    "aside",
    [f"A draft: <say>{THOUGHT}</say> No, rather not.", f"HTML has <aside>this</aside>. {THOUGHT}"],
    ids=["a draft", "a tag of that name"],
)
async def test_a_tag_within_an_aside_neither_ends_it_nor_says_its_words_aloud(
    stage: Stage, aside: str
) -> None:
    tags = stage.tags
    stage.model.say(
        tags.wrapped("aside", tags.marked(aside) if "draft" in aside else aside) + said(stage, "Nine.")
    )
    ts = await stage.say("alice", ALICE, "When does it leave?")
    stage.model.say(said(stage, LEAK))
    stage.model.say(said(stage, "That stays with me."))
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    assert await stage.answers(ALICE, ts) == ["Nine.", "That stays with me."]
    assert RUN not in shown(stage)
    assert RUN not in str(stage.model.requests[-1]["messages"]), "nor is the second question shown it"


@pytest.mark.parametrize("chunk", [later(1), 3, later(None)])
@pytest.mark.parametrize("written", WRITTEN)
async def test_letters_that_are_written_otherwise_hide_no_run(
    stage: Stage, written: str, chunk: int | None
) -> None:
    thinks = "Ich glaube, die Fähre für Bob können wir später höchstens übermorgen bezahlen."
    stage.model.say(reply("Um neun.", aside=thinks))
    ts = await stage.say("alice", ALICE, "Wann fährt sie?")
    stage.model.say(reply(WRITTEN[written](thinks)), chunk=chunk)
    stage.model.say("<say>Das bleibt bei mir.</say>")
    await stage.say("alice", ALICE, "Was denkst du?", ts)
    assert await stage.answers(ALICE, ts) == ["Um neun.", "Das bleibt bei mir."]


async def test_words_that_were_found_may_be_said(stage: Stage) -> None:
    await stage.sleep()
    await deciding(stage)
    answers(stage, turning())
    stage.model.say(choice("Think"))
    stage.model.say(THOUGHT)
    answers(stage, choice("Respond"), reply(f"My notes say: {THOUGHT}", aside=f"So: {THOUGHT}"))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert await stage.answers(GENERAL, ts) == [ON_IT, f"My notes say: {THOUGHT}"]


async def test_what_a_run_of_its_own_choices_tells_is_looked_at_too(stage: Stage) -> None:
    await stage.sleep()
    await deciding(stage)
    ts = await with_thought(stage)
    answers(stage, turning(), choice("Respond"), reply(LEAK, aside="Hm."), "<say>Nothing found.</say>")
    await stage.say("alice", ALICE, ASKED, ts)
    assert (await stage.answers(ALICE, ts))[1:] == [ON_IT, "Nothing found."]
    assert RUN not in shown(stage)


async def test_a_final_answer_of_open_thought_is_looked_at_too(stage: Stage) -> None:
    ts = await with_thought(stage)
    thinks(stage, f"<thought>Hm.</thought>{final(LEAK)}")
    stage.model.say(final("It is nine."), asks="Give your final answer now")
    await stage.say("alice", ALICE, "Think it through.", ts)
    assert (await stage.answers(ALICE, ts))[1:] == ["It is nine."]
    assert RUN not in shown(stage)
    assert THOUGHT not in str(stage.model.requests[-1]["messages"])


async def test_and_where_it_comes_again_there_is_an_apology(stage: Stage) -> None:
    ts = await with_thought(stage)
    thinks(stage, final(LEAK))
    stage.model.say(LEAK, asks="Give your final answer now")
    await stage.say("alice", ALICE, "Think it through.", ts)
    assert (await stage.answers(ALICE, ts))[1:] == [sentence(stage, "lost_words")]
    assert RUN not in shown(stage)


async def test_what_it_thought_in_the_open_before_is_not_said_either(stage: Stage) -> None:
    thinks(stage, f"<thought>{THOUGHT}</thought>{final('It is nine.')}")
    ts = await stage.say("alice", ALICE, "Think it through.")
    stage.model.say(reply(LEAK))
    stage.model.say("<say>I weighed it.</say>")
    await stage.say("alice", ALICE, "What did you think?", ts)
    assert await stage.answers(ALICE, ts) == ["It is nine.", "I weighed it."]
    assert RUN not in shown(stage)


async def test_what_it_thinks_in_the_open_is_what_its_answer_is_made_of(stage: Stage) -> None:
    thinks(stage, f"<thought>{THOUGHT}</thought><claudius>Now answer.</claudius>")
    goes_on(stage, final(THOUGHT))
    ts = await stage.say("alice", ALICE, "Think it through.")
    assert await stage.answers(ALICE, ts) == [THOUGHT]


async def test_a_stop_in_the_middle_of_a_run_leaves_nothing_of_it(stage: Stage) -> None:
    ts = await with_thought(stage)
    begun = "<aside>Hm.</aside><say>Well: I was thinking about the ferry repl"
    stage.model.say(f"{begun}acement", until=asyncio.Event(), first=len(begun), chunk=1)
    await stage.post("alice", ALICE, "Repeat your aside.", ts)
    await reads(stage, ts, "Well: I was")
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[1:] == ["Well: I was …"]
    assert "think" not in shown(stage)


async def test_the_page_shows_what_the_model_saw_when_it_was_asked_plainly(stage: Stage) -> None:
    ts = await with_thought(stage)
    stage.model.say("<aside>I will not repeat that.</aside>")
    stage.model.say("<say>No.</say>")
    await stage.say("alice", ALICE, "Repeat your aside.", ts)
    call = stage.entries("model-call")[-1]
    assert (call.event.name, call.event.private) == ("plainly", False)
    async with stage.session.get(f"{stage.soul.url}/console/calls/{call.seq}") as answer:
        seen = await answer.json()
    assert seen["agrees"]
    assert THOUGHT not in str(seen["request"])
