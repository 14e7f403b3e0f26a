"""Faults of event delivery, on and off."""

from __future__ import annotations

from aiohttp import ClientWebSocketResponse

from rehearsal.people import ALICE, SOUL
from tests.rehearsal.place import Place, ack, frame, say, text


async def nothing(place: Place, sent: int) -> None:
    """Check that no further event is sent to the soul."""
    await place.clock.advance(0)
    assert (await place.app())["sent"] == sent


async def test_redelivery_lets_acks_get_lost(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("redelivery")
    await say(place, "hello")
    envelopes = [await frame(ws)]
    await ack(ws, envelopes[0])
    for wait in (3, 60, 240):
        await place.until(unacked=1)
        await place.clock.advance(wait)
        envelopes.append(await frame(ws))
        await ack(ws, envelopes[-1])
    await place.until(unacked=0)
    assert [(one["retry_attempt"], one["retry_reason"]) for one in envelopes] == [
        (0, ""),
        *((n, "timeout") for n in (1, 2, 3)),
    ]
    assert len({one["payload"]["event_id"] for one in envelopes}) == 1
    assert len({one["envelope_id"] for one in envelopes}) == 4


async def test_when_it_is_off_the_first_ack_is_enough(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("redelivery")
    place.world.faults.switch("redelivery", on=False)
    await say(place, "hello")
    await ack(ws, await frame(ws))
    await place.until(unacked=0)


async def test_duplicate_sends_an_event_twice_at_once(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("duplicate")
    await say(place, "hello")
    first, second = await frame(ws), await frame(ws)
    assert first["payload"] == second["payload"]
    assert first["envelope_id"] != second["envelope_id"]
    assert (second["retry_attempt"], second["retry_reason"]) == (0, "")
    await ack(ws, second)
    await place.until(unacked=0)
    place.world.faults.switch("duplicate", on=False)
    await say(place, "one", "two")
    assert [await text(ws), await text(ws)] == ["one", "two"]


async def test_reorder_lets_the_next_one_pass(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("reorder")
    await say(place, "one", "two", "three", "four")
    assert [await text(ws) for _ in range(4)] == ["two", "one", "four", "three"]
    place.world.faults.switch("reorder", on=False)
    await say(place, "five", "six")
    assert [await text(ws) for _ in range(2)] == ["five", "six"]


async def test_a_message_and_its_mention_wait_together(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("reorder")
    await place.client(ALICE.token).chat_postMessage(channel="#general", text=f"<@{SOUL.user}> call")
    await say(place, "passes")
    kinds = [
        (one["type"], one["text"][-6:]) for _ in range(3) if (one := (await frame(ws))["payload"]["event"])
    ]
    assert kinds == [("message", "passes"), ("message", "> call"), ("app_mention", "> call")]


async def test_what_waits_to_be_passed_waits_no_longer_than_it_was_told(
    place: Place, ws: ClientWebSocketResponse
) -> None:
    place.world.faults.switch("reorder", seconds=2)
    await say(place, "one")
    await place.clock.advance(1.9)
    await nothing(place, sent=0)
    await place.clock.advance(0.1)
    assert await text(ws) == "one"


async def test_delay_brings_an_event_late(place: Place, ws: ClientWebSocketResponse) -> None:
    place.world.faults.switch("delay", seconds=7, times=1)
    await say(place, "one", "two")
    passed = await frame(ws)
    assert passed["payload"]["event"]["text"] == "two"
    await ack(ws, passed)
    await place.until(unacked=1)
    await place.clock.advance(6.9)
    await nothing(place, sent=1)
    await place.clock.advance(0.1)
    assert await text(ws) == "one"


async def test_what_was_held_comes_when_the_fault_is_switched_off(
    place: Place, ws: ClientWebSocketResponse
) -> None:
    place.world.faults.switch("delay")
    await say(place, "one")
    await nothing(place, sent=0)
    place.world.faults.switch("delay", on=False)
    assert await text(ws) == "one"
