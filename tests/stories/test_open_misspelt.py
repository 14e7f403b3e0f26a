"""Misspelt tags, reported beside the rest; two names of self-calls."""

from __future__ import annotations

from daemon.actions.action import ActionContext, ActionDefinition
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_deeds import offering
from tests.stories.test_open_thought import calls_itself, final, goes_on, prompts, spawns, thinks, told


def huhs(stage: Stage) -> list[str]:
    return [text for text in told(stage) if text.startswith("<huh")]


async def test_what_is_valid_is_carried_out_and_what_is_misspelt_is_told(stage: Stage) -> None:
    await stage.sleep()

    async def look(context: ActionContext, args: object) -> str:
        return "It is green."

    offering(stage, ActionDefinition(name="LookUp", description="Look.", perform=look))
    await stage.wake()
    thinks(stage, "<look_up>the colour</look_up><LookUp/>", calls_itself("Hm."), final("It is green."))
    ts = await stage.say("alice", ALICE, "Which colour has it?")
    assert await stage.answers(ALICE, ts) == ["It is green."]
    [huh] = huhs(stage)
    assert 'unknown_tag="look_up"' in huh
    assert "&lt;LookUp&gt;" in huh
    asked = prompts(stage)
    assert huh not in asked[0]
    assert huh in asked[1]
    assert "It is green." in asked[1], "the valid one was carried out"
    assert asked[2].startswith(asked[1]), "the prompt only grows"


async def test_where_no_known_tag_is_near_all_of_them_are_named(stage: Stage) -> None:
    thinks(stage, f'<Fly to="moon"/>{calls_itself("On.")}', final("I cannot fly."))
    ts = await stage.say("alice", ALICE, "Fly to the moon.")
    assert await stage.answers(ALICE, ts) == ["I cannot fly."]
    [huh] = huhs(stage)
    assert 'unknown_tag="Fly"' in huh
    for known in ("claudius", "claudius-response", "todo-until", "spawn-thread"):
        assert f"&lt;{known}&gt;" in huh
    assert len(stage.entries("self-call")) == 1


async def test_the_page_shows_it(stage: Stage) -> None:
    thinks(stage, f"{calls_itself('On.')}<spawn_thread>a</spawn_thread>", final("Yes."))
    await stage.say("alice", ALICE, "Is it?")
    thread = stage.entries("thread")[0].thread
    async with stage.session.get(f"{stage.soul.url}/console/threads/{thread}") as response:
        entries = (await response.json())["entries"]
    shown = [entry["body"]["text"] for entry in entries if entry["kind"] == "system-message"]
    assert [text for text in shown if 'unknown_tag="spawn_thread"' in text]


async def test_beside_a_final_answer_it_is_told_too_and_the_answer_is_said(stage: Stage) -> None:
    thinks(stage, f"<set_timer in='90s'/>{final('I will tell you.')}")
    ts = await stage.say("alice", ALICE, "Tell me when the tea is ready.")
    assert await stage.answers(ALICE, ts) == ["I will tell you."]
    [huh] = huhs(stage)
    assert "&lt;set-timer&gt;" in huh


async def test_alone_it_is_asked_again_and_told_why(stage: Stage) -> None:
    thinks(stage, "<spawn_thread>north</spawn_thread>", final("I know it by heart."))
    ts = await stage.say("alice", ALICE, "Which is the pole star?")
    assert await stage.answers(ALICE, ts) == ["I know it by heart."]
    assert ["system-note" in text for text in told(stage)] == [True, False]
    assert huhs(stage)[0] in prompts(stage)[1]


async def test_a_misspelt_item_beside_valid_ones_is_told(stage: Stage) -> None:
    thinks(stage, "<fan-out><item>north</item><itme>south</itme></fan-out>", final("Polaris."))
    goes_on(stage, final("Polaris; I asked for one."))
    ts = await stage.say("alice", ALICE, "Which are the pole stars?")
    assert await stage.answers(ALICE, ts) == ["Polaris; I asked for one."]
    [huh] = huhs(stage)
    assert 'unknown_tag="itme"' in huh
    assert "&lt;item&gt;" in huh
    assert huh in prompts(stage)[-1]


async def test_what_is_only_words_is_not_told(stage: Stage) -> None:
    words = "Use `<Fly/>`, <b>bold</b>, List<int>, <a@b.example>. <thinking>Hm.</thinking>"
    thinks(stage, f"{words}{calls_itself('On.')}", final("Yes."))
    await stage.say("alice", ALICE, "Is it?")
    assert not huhs(stage)


async def test_it_calls_itself_by_the_tag_of_the_seed(stage: Stage) -> None:
    thinks(stage, "<ask-claudius>First the outline.</ask-claudius>")
    stage.model.say(final("Forty-two."), asks="in the open")
    ts = await stage.say("alice", ALICE, "What is it?")
    assert await stage.answers(ALICE, ts) == ["Forty-two."]
    assert [entry.event.text for entry in stage.entries("self-call")] == ["First the outline."]
    thread = stage.entries("thread")[0].thread
    first = stage.model.requests[1]["messages"][-1]["content"][-1]["text"]
    assert thread in first
    thinks(stage, f'<ask-Claudius convo_id="{thread}">Again.</ask-Claudius>', final("Yes."))
    await stage.say("alice", ALICE, "Once more?", ts)
    assert stage.entries("self-call")[-1].event.text == "Again."
    thinks(stage, "<ask-CLAUDIUS>Louder.</ask-CLAUDIUS>", final("Yes!"))
    await stage.say("alice", ALICE, "And now?", ts)
    assert stage.entries("self-call")[-1].event.text == "Louder."
    assert not huhs(stage)


async def test_what_it_asks_itself_is_never_said(stage: Stage) -> None:
    thinks(stage, "<claudius-response>Yes.<ask-claudius>What a question.</ask-claudius></claudius-response>")
    ts = await stage.say("alice", ALICE, "Is it?")
    assert await stage.answers(ALICE, ts) == ["Yes."]


async def test_a_branch_is_told_its_own_id(stage: Stage) -> None:
    thinks(stage, spawns("north"), final("Polaris."), final("It is Polaris."))
    await stage.say("alice", ALICE, "Which is the pole star?")
    root = stage.entries("thread")[0].thread
    trailing = [body["messages"][-1]["content"][-1]["text"] for body in stage.model.requests]
    assert f"`{root}`" in trailing[1]
    assert f"`{root}.north`" in trailing[2]
