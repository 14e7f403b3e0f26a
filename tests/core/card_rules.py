"""The rules of the card, and how each is taken out; the others are in rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

STORY = "tests/stories/test_card.py::"
SLACK = "tests/slack/test_card.py::"

CARD: tuple[Mutant, ...] = (
    rule(
        "a card: a change is made where it stands",
        "soul/card.py",
        "        ts, since = shown[-1].event.ts, shown[-1].seq\n",
        "        since = shown[-1].seq\n",
        "card",
    ),
    rule(
        "a card: what a kill left in doubt is looked for",
        "soul/card.py",
        "or intent.seq < scope.execution.epoch]",
        "and False]",
        "card/kills",
    ),
    rule(
        "a card: what was begun before a restart is settled",
        "soul/settling.py",
        "    await _end_cards(turn, left)\n",
        "",
        "card-new-code/kills",
    ),
    rule(
        "a card: one that is given up is settled, though there was an answer",
        "soul/soul_program.py",
        "            was_answered = ending.was_answered(turn)\n"
        "            await settling.settle_card(turn)\n",
        "            was_answered = ending.was_answered(turn)\n",
        "card-killed-late",
    ),
    rule(
        "a card: whoever comes back to plan gets another",
        "soul/card.py",
        "            came, process = transition.seq, transition.event.to",
        "            process = transition.event.to",
        "card-anew",
    ),
    rule(
        "a card: a transition that is recorded anew begins no other",
        "soul/card.py",
        "        if transition.event.to != process:",
        "        if True:",
        STORY + "test_a_card_goes_from_nothing_to_all_in_place_over_turns_and_lives",
    ),
    rule(
        "a card: what it shows already is not sent",
        "soul/card.py",
        "    elif ts and _reads(",
        "    elif False and ts and _reads(",
        STORY + "test_what_the_card_shows_already_is_not_sent_again",
    ),
    rule(
        "a card: no refusal of it reaches a turn",
        "soul/card.py",
        "except (CardRefused, SpeechRefused) as refusal:",
        "except CardGone as refusal:",
        STORY + "test_a_change_that_slack_refuses_is_noted_and_nothing_else",
    ),
    rule(
        "a card: one that was deleted is posted again",
        "soul/card.py",
        ">= MOST:",
        ">= 1:",
        STORY + "test_a_card_that_somebody_deletes_is_posted_once_more_and_no_oftener",
    ),
    rule(
        "a card: and no oftener than once",
        "soul/card.py",
        ">= MOST:",
        ">= 50:",
        STORY + "test_a_card_that_somebody_deletes_is_posted_once_more_and_no_oftener",
    ),
    rule(
        "a card: it holds up an answer for seconds",
        "soul/card.py",
        "PATIENT = 2",
        "PATIENT = 8",
        STORY + "test_while_slack_takes_no_card_the_answer_waits_for_seconds_only",
    ),
    rule(
        "a card: a change that may have been lost is tried again",
        "soul/card.py",
        "PATIENT = 2",
        "PATIENT = 0",
        STORY + "test_a_card_that_slack_does_not_take_at_once_is_shown_a_little_later",
    ),
    rule(
        "a card: what was given up may stand there after all",
        "soul/card.py",
        "    if doubtful:\n        ts = await",
        "    if doubtful and intent in doubtful:\n        ts = await",
        STORY + "test_a_card_that_nobody_knew_of_is_found_again_when_it_changes",
    ),
    rule(
        "a card: a branch has none",
        "soul/voice.py",
        "        if self.addressed:\n            await card.show",
        "        if True:\n            await card.show",
        STORY + "test_a_branch_shows_no_card",
    ),
    rule(
        "a card: it waits for no long rate limit",
        "slack/speaker.py",
        "CARD_PATIENCE = 5",
        "CARD_PATIENCE = 30",
        SLACK + "test_a_card_waits_for_a_rate_limit_but_not_for_long",
    ),
    rule(
        "a card: it forms no reference",
        "slack/block_text.py",
        """.replace("<", "&lt;")""",
        "",
        STORY + "test_a_card_goes_from_nothing_to_all_in_place_over_turns_and_lives",
    ),
    rule(
        "a card: it is as large as Slack takes it",
        "slack/checklist.py",
        "MOST = 48",
        "MOST = 480",
        SLACK + "test_any_plan_fits_in_what_slack_takes",
    ),
    rule(
        "a card: a stop sign on it counts",
        "slack/place.py",
        "SpeechStarted, Spoken, CardShown)",
        "SpeechStarted, Spoken)",
        SLACK + "test_a_stop_sign_on_the_card_stops_its_conversation",
    ),
    rule(
        "a card: the rehearsed Slack refuses what Slack refuses",
        "rehearsal/blocks.py",
        """    _limit("text", text.get("text"), HEADER_MOST)""",
        "    return",
        "tests/rehearsal/test_gestures.py::test_a_card_that_slack_would_not_take_is_refused",
    ),
)
