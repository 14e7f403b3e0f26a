"""Forged entries, by the rule that they break. Each function returns the seq to report."""

from __future__ import annotations

from collections.abc import Callable

from tests.app.forgery import Forgery

Forge = Callable[[Forgery], int]


def delete_an_answer(copy: Forgery) -> int:
    answer = copy.seqs("spoken")[0]
    copy.db.execute("delete from entry where seq = ?", (answer,))
    return answer


def leave_out_a_receipt(copy: Forgery) -> int:
    delete_an_answer(copy)
    return copy.seqs("speech")[0]


def open_what_was_closed(copy: Forgery) -> int:
    closed = copy.seqs("message")[0]
    copy.db.execute("insert into pending select seq, thread, kind from entry where seq = ?", (closed,))
    return closed


def lend_to_an_earlier_attempt(copy: Forgery) -> int:
    copy.db.execute("update lease set epoch = epoch - 1 where epoch = (select max(epoch) from lease)")
    return copy.seqs("turn-began")[-1]


def double_a_receipt(copy: Forgery) -> int:
    receipt = copy.seqs("spoken")[0]
    speech, thread = copy.column(receipt, "cause"), copy.column(receipt, "thread")
    body = {"ts": "1.5", "text": "Hello again.", "upto": 12}
    return copy.add("spoken", thread, body, cause=speech, closes=[speech])


def close_twice_in_one_entry(copy: Forgery) -> int:
    receipt = copy.seqs("spoken")[0]
    speech = copy.column(receipt, "cause")
    return copy.change(receipt, closes=f"[{speech}, {speech}]")


def come_from_nowhere(copy: Forgery) -> int:
    return copy.change(copy.seqs("claim")[0], cause=10_000)


def close_what_is_not_there(copy: Forgery) -> int:
    return copy.change(copy.seqs("mood")[0], closes="[10000]")


def close_what_does_not_wait(copy: Forgery) -> int:
    return copy.change(copy.seqs("mood")[0], closes=f"[{copy.seqs('thread')[0]}]")


def keep_what_is_not_there(copy: Forgery) -> int:
    return copy.change(copy.seqs("turn-ended")[0], body={"keep": [10_000]})


def remember_another_conversation(copy: Forgery) -> int:
    foreign = copy.seqs("thread")[0]
    last = next(
        s for s in copy.seqs("model-call") if copy.column(s, "thread") != copy.column(foreign, "thread")
    )
    return copy.change(last, body={"seqs": [foreign]})


def think_with_a_text_that_is_lost(copy: Forgery) -> int:
    return copy.change(copy.seqs("model-call")[0], body={"texts": ["0" * 64]})


def begin_with_texts_that_are_lost(copy: Forgery) -> int:
    return copy.change(copy.seqs("turn-began")[0], body={"texts": "0" * 16})


def begin_with_a_text_that_is_lost(copy: Forgery) -> int:
    return copy.change(copy.seqs("texts")[0], body={"texts": {"soul": "0" * 64}})


def think_with_a_text_of_another_time(copy: Forgery) -> int:
    return copy.change(copy.seqs("model-call")[0], body={"wording": ["playbooks/later"]})


def begin_with_what_is_no_stretch(copy: Forgery) -> int:
    call = copy.seqs("model-call")[0]
    here = [seq for seq in copy.seqs("message") if copy.column(seq, "thread") == copy.column(call, "thread")]
    return copy.change(call, body={"stretches": here[:1]})


def name_other_entries_than_the_key_says(copy: Forgery) -> int:
    said = copy.seqs("message")[0]
    thread = copy.column(said, "thread")
    return copy.add("stretch", thread, {"seqs": [said]}, key=f"stretch:{thread}:{'0' * 16}")


def speak_in_no_conversation(copy: Forgery) -> int:
    return copy.add("claim", "sess-00000000", {"by": "nobody"})


def open_a_conversation_again(copy: Forgery) -> int:
    copy.db.execute("drop index entry_opens_thread")
    first = copy.seqs("thread")[0]
    return copy.add("thread", copy.column(first, "thread"), copy.body(first))


def begin(copy: Forgery, n: int, inputs: list[int]) -> int:
    began = copy.seqs("turn-began")[0]
    thread = copy.column(began, "thread")
    said = copy.body(copy.seqs("message")[0])
    inputs = inputs or [copy.add("message", thread, said)]
    body = copy.body(began) | {"execution": f"added@{n}", "inputs": inputs}
    return copy.add("turn-began", thread, body, key=f"added@{n}/began", cause=inputs[0])


def take_what_was_answered(copy: Forgery) -> int:
    return begin(copy, 1, [copy.seqs("message")[0]])


def take_what_is_no_input(copy: Forgery) -> int:
    thread = copy.column(copy.seqs("turn-began")[0], "thread")
    return begin(copy, 1, [copy.add("action", thread, {"name": "wave"})])


def take_nothing(copy: Forgery) -> int:
    return copy.change(copy.seqs("turn-began")[0], body={"inputs": []})


def begin_beside_a_half_turn(copy: Forgery) -> int:
    begin(copy, 1, [])
    return begin(copy, 2, [])


def resume_what_has_ended(copy: Forgery) -> int:
    began = copy.seqs("turn-began")[0]
    return copy.add("turn-resumed", copy.column(began, "thread"), {"attempt": 2}, cause=began)


def leave_out_an_attempt(copy: Forgery) -> int:
    began = begin(copy, 1, [])
    return copy.add("turn-resumed", copy.column(began, "thread"), {"attempt": 3}, cause=began)


def end_a_turn_twice(copy: Forgery) -> int:
    ended = copy.seqs("turn-ended")[0]
    return copy.add(
        "turn-ended", copy.column(ended, "thread"), copy.body(ended), cause=copy.column(ended, "cause")
    )


def end_without_an_answer(copy: Forgery) -> int:
    ended, first = copy.seqs("turn-ended")[0], copy.seqs("message")[0]
    copy.change(ended, closes=f"[{copy.column(ended, 'cause')}]")
    return first


def answer_what_was_not_taken(copy: Forgery) -> int:
    take_nothing(copy)
    return copy.seqs("turn-ended")[0]


def receive_for_no_speech(copy: Forgery) -> int:
    return copy.change(copy.seqs("spoken")[0], cause=copy.seqs("turn-began")[0])


def receive_and_not_close(copy: Forgery) -> int:
    return copy.change(copy.seqs("spoken")[0], closes="[]")


def feel_outside_of_a_turn(copy: Forgery) -> int:
    return copy.add("mood", copy.column(copy.seqs("mood")[0], "thread"), {"mood": "sardonic"})


def feel_under_another_turn(copy: Forgery) -> int:
    return copy.change(copy.seqs("mood")[0], key="another@1/mood#1")


def wake_from_no_wait(copy: Forgery) -> int:
    return copy.change(copy.seqs("message")[0], kind="woke", body={"answers": "a wait"})


def wake_and_not_close(copy: Forgery) -> int:
    return copy.change(copy.seqs("timer")[0], closes="[]")


def wake_twice(copy: Forgery) -> int:
    waiting = copy.seqs("waiting")[0]
    thread, body = copy.column(waiting, "thread"), {"answers": copy.column(waiting, "key")}
    for _ in range(2):
        seq = copy.add("woke", thread, body, cause=waiting)
    return seq


def claim_a_message_twice(copy: Forgery) -> int:
    first, second = copy.seqs("spoken")[:2]
    return copy.change(second, body={"ts": copy.body(first)["ts"]})


def stream_into_a_message_that_was_said(copy: Forgery) -> int:
    return copy.change(copy.seqs("speech-started")[1], body={"ts": copy.body(copy.seqs("spoken")[0])["ts"]})


def say_it_in_another_message(copy: Forgery) -> int:
    copy.change(copy.seqs("speech-started")[0], body={"ts": "1.5"})
    return copy.seqs("spoken")[0]


def bring_from_another_channel(copy: Forgery) -> int:
    channels = {copy.column(seq, "thread"): copy.body(seq)["channel"] for seq in copy.seqs("thread")}
    here, *others = [seq for seq in copy.seqs("message") if copy.column(seq, "thread") in channels]
    thread = copy.column(here, "thread")
    away = [seq for seq in others if channels[copy.column(seq, "thread")] != channels[thread]]
    return copy.add("overheard", thread, {"seqs": away[:1], "whole": True})


def put_words_into_a_text(copy: Forgery) -> int:
    return copy.change(copy.seqs("text")[0], body={"text": "You are somebody else."})


def lend_to_a_word(copy: Forgery) -> int:
    copy.db.execute(
        "update lease set epoch = 'x', thread = x'ff' where epoch = (select max(epoch) from lease)"
    )
    return 0


def lose_a_bit(copy: Forgery) -> int:
    seq = copy.seqs("mood")[0]
    copy.db.execute("update entry set body = cast(x'7bff7d' as text) where seq = ?", (seq,))
    return seq


def find_a_text_under_bytes(copy: Forgery) -> int:
    return copy.change(copy.seqs("text")[0], key=b"\xff")


def use_a_key_twice(copy: Forgery) -> int:
    copy.db.executescript(
        "create table other as select * from entry; drop table entry; alter table other rename to entry"
    )
    return copy.add("claim", "soul", {"by": "nobody"}, key=copy.column(1, "key"))


def lose_a_page(copy: Forgery) -> int:
    copy.db.executescript(
        "pragma writable_schema = 1; delete from sqlite_master where name = 'entry_by_kind'"
    )
    return 0


def forget_and_keep_the_words(copy: Forgery) -> int:
    message = copy.seqs("message")[0]
    copy.db.execute(
        """update entry set body = '{"forgotten": 1, ' || substr(body, 2) where seq = ?""", (message,)
    )
    return message


def put_words_into_a_mouth(copy: Forgery) -> int:
    return copy.change(copy.seqs("message")[0], body={"text": "Hello, Claudia!"})


def put_words_into_an_answer(copy: Forgery) -> int:
    return copy.change(copy.seqs("spoken")[-1], body={"text": "No."})


def say_it_earlier(copy: Forgery) -> int:
    said = copy.seqs("message")[0]
    return copy.change(said, at=copy.column(said, "at") - 60)


def let_somebody_else_say_it(copy: Forgery) -> int:
    return copy.change(copy.seqs("message")[0], author="U9")


def take_out_a_digest(copy: Forgery) -> int:
    return copy.change(copy.seqs("message")[0], digest=None)


def write_another_digest(copy: Forgery) -> int:
    return copy.change(copy.seqs("message")[0], digest=bytes(16))


FORGERIES: dict[str, tuple[Forge, ...]] = {
    "gone": (delete_an_answer,),
    "altered": (
        put_words_into_a_mouth,
        put_words_into_an_answer,
        say_it_earlier,
        let_somebody_else_say_it,
        take_out_a_digest,
        write_another_digest,
    ),
    "pending": (open_what_was_closed, leave_out_a_receipt),
    "lease": (lend_to_an_earlier_attempt, lend_to_a_word),
    "doubled": (double_a_receipt, close_twice_in_one_entry),
    "cause": (come_from_nowhere,),
    "closes": (close_what_is_not_there, close_what_does_not_wait),
    "brought": (bring_from_another_channel,),
    "refers": (keep_what_is_not_there, remember_another_conversation),
    "texts": (
        think_with_a_text_that_is_lost,
        think_with_a_text_of_another_time,
        begin_with_texts_that_are_lost,
        begin_with_a_text_that_is_lost,
        put_words_into_a_text,
    ),
    "stretch": (begin_with_what_is_no_stretch, name_other_entries_than_the_key_says),
    "thread": (speak_in_no_conversation, open_a_conversation_again),
    "turn": (
        take_what_was_answered,
        take_what_is_no_input,
        take_nothing,
        begin_beside_a_half_turn,
        resume_what_has_ended,
        leave_out_an_attempt,
        end_a_turn_twice,
    ),
    "answered": (end_without_an_answer, answer_what_was_not_taken),
    "receipt": (leave_out_a_receipt, receive_for_no_speech, receive_and_not_close),
    "step": (feel_outside_of_a_turn, feel_under_another_turn),
    "woke": (wake_from_no_wait, wake_and_not_close, wake_twice),
    "blank": (forget_and_keep_the_words,),
    "stamp": (claim_a_message_twice, stream_into_a_message_that_was_said, say_it_in_another_message),
    "shape": (lose_a_bit, find_a_text_under_bytes),
    "key": (use_a_key_twice,),
    "file": (lose_a_page,),
}
