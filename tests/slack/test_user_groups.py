"""Members of user groups, by Slack's own wire."""

from __future__ import annotations

import asyncio

from daemon.slack.user_groups import CACHE_SECONDS, FAILURE_SECONDS
from rehearsal.people import BARISTAS, BOB, CAROL
from tests.slack.office import Office

METHOD = "usergroups.users.list"


async def test_members_are_read_once_in_five_minutes(here: Office) -> None:
    groups = here.slack.user_groups
    found = await asyncio.gather(*[groups.members_of(BARISTAS) for _ in range(3)])
    assert found == [{BOB.id, CAROL.id}] * 3
    here.wire.answers[METHOD] = {"users": [BOB.id]}
    await here.clock.advance(CACHE_SECONDS - 1)
    assert await groups.members_of(BARISTAS) == {BOB.id, CAROL.id}
    assert len(here.wire.told(METHOD)) == 1
    await here.clock.advance(1)
    assert await groups.members_of(BARISTAS) == {BOB.id}


async def test_a_group_that_cannot_be_read_has_no_known_members_for_a_while(here: Office) -> None:
    groups = here.slack.user_groups
    here.wire.refuse[METHOD] = ["missing_scope"]
    assert await groups.members_of(BARISTAS) is None
    assert await groups.members_of(BARISTAS) is None
    assert len(here.wire.told(METHOD)) == 1
    await here.clock.advance(FAILURE_SECONDS)
    assert await groups.members_of(BARISTAS) == {BOB.id, CAROL.id}


async def test_an_old_list_is_not_used_when_slack_does_not_answer(here: Office) -> None:
    groups = here.slack.user_groups
    assert await groups.members_of(BARISTAS)
    here.wire.garbled.add(METHOD)
    await here.clock.advance(CACHE_SECONDS)
    assert await groups.members_of(BARISTAS) is None


async def test_an_answer_without_a_list_and_an_id_of_no_group_name_nobody(here: Office) -> None:
    groups = here.slack.user_groups
    here.wire.answers[METHOD] = {"users": "everybody"}
    assert await groups.members_of(BARISTAS) is None
    assert await groups.members_of("U0ALICE0001") is None
    assert len(here.wire.told(METHOD)) == 1


async def test_the_rehearsed_workspace_knows_no_other_group(here: Office) -> None:
    assert await here.slack.user_groups.members_of("S0NOBODY001") is None
