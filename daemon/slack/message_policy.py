"""Classification of messages, commands and stops, and recording of ambient messages.

A text is a command only without other words: "stop at five o'clock" goes to the model. Stops are judged by
the journal alone, without waiting for Slack. Ambient messages go to their channel's thread, which no
conversation reads, so they wake nobody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import groupby
from typing import Any, Literal

from daemon.engine.event import Entry, Event, Input, InputRank, of_kind, root_of
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    AmbientMessage,
    ConversationOpened,
    IncomingMessage,
    MessageCommand,
    PersonMessage,
    QuestionAsked,
    ReactionChanged,
    ReminderFired,
    SoulTurnBegan,
    SpeechFinished,
    moment_of,
    thread_key,
)
from daemon.slack.block_text import EMOJI_CODE, MENTION, strip_mention
from daemon.slack.directory import AccessPolicy
from daemon.slack.incoming import STOP_EMOJIS, BotIdentity, SlackMessage, SlackReaction, StopSignal
from daemon.slack.places import (
    OURS,
    AudienceTracker,
    SlackWorkspace,
    conversation_of,
    conversation_of_message,
    open_channel_thread,
    record_said,
)
from daemon.slack.web_api import SKEW
from daemon.turn.input_policy import may_answer, means_continue, was_written_after

SALUTATION_WORDS = """
    hi hiya hello hey heya hallo yo howdy greetings dear welcome good_morning morning good_afternoon
    afternoon
    good_evening evening good_day good_night hi_there hello_there hey_there hi_again hi_all hello_all
    hi_everyone hello_everyone
    thanks thanks_a_lot thanks_so_much many_thanks thank_you thank_you_so_much
    thank_you_very_much thx ty cheers congrats congratulations sorry
    moin servus grüezi guten_morgen morgen guten_tag guten_abend gute_nacht grüß_dich grüß_gott liebe lieber
    danke danke_dir danke_schön vielen_dank herzlichen_dank willkommen entschuldige entschuldigung
    bonjour bonsoir salut coucou cher chère merci merci_beaucoup bienvenue désolé désolée
    hola buenas buenos_días buenas_tardes buenas_noches querido querida gracias muchas_gracias bienvenido
    perdón
    olá oi bom_dia boa_tarde boa_noite caro cara obrigado obrigada muito_obrigado muito_obrigada
    ciao buongiorno buonasera buon_pomeriggio salve caro cara grazie grazie_mille scusa
    hej hejsan hallå god_morgon god_kväll tack tack_så_mycket god_morgen hei takk tak tusen_takk mange_tak
    moi moikka terve huomenta hyvää_huomenta päivää hyvää_päivää kiitos
    hoi goedemorgen goedemiddag goedenavond goedendag beste bedankt dank_je dank_je_wel dankjewel
    cześć hejka dzień_dobry dobry_wieczór dzięki dziękuję ahoj čau dobrý_den dobré_ráno díky děkuji
    szia sziasztok helló jó_reggelt jó_napot köszi köszönöm bună bună_ziua salutare mulțumesc
    привет здравствуй здравствуйте доброе_утро добрый_день добрый_вечер спасибо спасибо_большое
    привіт доброго_ранку добрий_день доброго_дня дякую
    γεια γεια_σου καλημέρα καλησπέρα ευχαριστώ merhaba selam günaydın iyi_günler iyi_akşamlar teşekkürler
    sağol
    مرحبا أهلا السلام_عليكم صباح_الخير مساء_الخير شكرا שלום היי בוקר_טוב ערב_טוב תודה
    नमस्ते नमस्कार सुप्रभात धन्यवाद สวัสดี สวัสดีครับ สวัสดีค่ะ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ
    你好 您好 嗨 大家好 早 早上好 早安 下午好 晚上好 谢谢 多谢 謝謝 こんにちは こんばんは おはよう
    おはようございます ありがとう ありがとうございます お疲れ様です 안녕 안녕하세요 감사합니다 고마워요
    halo hai selamat_pagi selamat_siang selamat_sore selamat_malam terima_kasih chào xin_chào cảm_ơn
"""  # noqa: RUF001 - they are the letters of their languages
"""Greetings and thanks; `_` is a space."""

SALUTATIONS = frozenset(SALUTATION_WORDS.split())
MOST_SALUTATION_WORDS = 4

POSSESSIVE = ("'s", "\u2019s", "\u2018s")
"""Suffixes of a mention that does not address somebody."""


def is_addressed_to_another(text: str) -> bool:
    found = MENTION.search(text)
    if found is None or text.startswith(POSSESSIVE, found.end()):
        return False
    return _is_salutation(_salutation_words(text[: found.start()]))


def _is_salutation(words: list[str]) -> bool:
    while words:
        sizes = [
            size for size in range(1, MOST_SALUTATION_WORDS + 1) if "_".join(words[:size]) in SALUTATIONS
        ]
        if not sizes:
            return False
        words = words[max(sizes) :]
    return True


def _salutation_words(text: str) -> list[str]:
    text = unicodedata.normalize("NFC", EMOJI_CODE.sub(" ", text).casefold())
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in text).split()


Address = Literal["dm", "mention", "follow-up", "late", "heard", "ignored"]
ANSWERED_ADDRESSES = ("dm", "mention", "follow-up")


def classify_message(
    message: SlackMessage,
    me: BotIdentity,
    allowed: AccessPolicy,
    called_by: str | None,
    *,
    late: bool = False,
    has_reached_limit: bool = False,
) -> Address:
    """Classify a message of another user.

    `called_by` is the ts of the message that called the soul into the thread; None if the soul takes no part.
    `late`: the message is too old to answer. `has_reached_limit`: the limit of bot messages is reached.
    """
    address = _address(message, me, called_by)
    ignores_bot = message.is_by_bot and (has_reached_limit or not me.is_mentioned_in(message))
    if address in ANSWERED_ADDRESSES and (ignores_bot or not allowed.may_be_heard(message)):
        address = "heard"
    if address == "heard" and called_by is None:
        return "ignored"
    if address in ANSWERED_ADDRESSES and late:
        return "late"
    return address


def _address(message: SlackMessage, me: BotIdentity, called_by: str | None) -> Address:
    if message.change:
        return "heard"
    if message.kind == "dm":
        return "dm"
    if me.is_mentioned_in(message):
        return "mention"
    if is_addressed_to_another(message.text):
        return "heard"
    if called_by is None:
        return "ignored"
    if moment_of(message.ts) < moment_of(called_by):
        return "heard"
    return "follow-up"


STOP_SIGNS = "🛑⛔"

STOP_WORDS = """
    🛑 stop stop_it stop_that stop_this stop_here stop_there stop_thinking stop_working stop_talking
    halt cancel cancel_it cancel_that cancel_this abort abort_it that_s_enough
    stopp halt_an anhalten aufhören hör_auf hör_auf_damit abbrechen abbruch brich_ab es_reicht
    arrête arrêtez arrêter arrête_toi arrêtez_vous arrête_ça annule annulez annuler ça_suffit
    para para_ya parar detente deténgase detener cancela cancelar basta basta_ya pára pare cancele
    ferma fermati annulla annullare smettila smetti stoppa sluta avbryt afbryd annuller lopeta seis peruuta
    hou_op ophouden annuleer annuleren przestań zatrzymaj zatrzymaj_się anuluj přestaň zastav zruš
    állj hagyd_abba oprește anulează стоп стой остановись хватит отмена отмени прекрати зупинись скасуй
    σταμάτα σταμάτησε ακύρωσε durdur iptal توقف إلغاء עצור עצרי रुको रुकिए रद्द_करो
    停 停止 停下 取消 中止 ストップ 止めて やめて 止まって キャンセル 중지 멈춰 그만 취소
    berhenti hentikan batalkan dừng dừng_lại hủy หยุด ยกเลิก
"""
"""Stop phrases in many languages; `_` is a space."""

STOP = frozenset(STOP_WORDS.split())

POLITE_WORDS = """
    please pls plz now ok okay just hey bitte jetzt sofort mal svp stp maintenant por favor ahora agora per
    favore adesso proszę prosím пожалуйста lütfen tolong 请
"""
"""Words beside a stop that do not change its meaning."""

ASIDE = frozenset(POLITE_WORDS.split())
TRACE = re.compile(r"!trace[.?!]*", re.IGNORECASE)
HELP = re.compile(r"!help(?:\s+!?(?:help|memory|forget|delete|trace|allowed|stop))?[.?!]*", re.IGNORECASE)
ALLOWED = re.compile(r"!allowed(?:\s+\d{1,6}\s+off)?[.?!]*", re.IGNORECASE)
DELETE = re.compile(r"!delete(?:\s+(?:all\s+)?your\s+messages)?(?:\s+here)?[.?!]*", re.IGNORECASE)

FULL_WIDTH = "\uff01"
"""Exclamation mark of Chinese and Japanese keyboards."""

COMMAND = re.compile(r"![^\W\d_][\w-]{0,39}(?:\s+(?:me|\d{1,6}(?:\s*:.+)?))?", re.DOTALL)
"""Command: a word after one `!`, alone or with `me`, a number, or a number and `: text`. With anything else
after the word, as in `!important thing happened`, it is plain text.
"""

MEMORY = re.compile(r"\s*!memory\b", re.IGNORECASE)
FORGET = re.compile(r"\s*!forget\b", re.IGNORECASE)

LONGEST_STOP = 4_000
"""Most characters of a text that may be a stop."""

VARIANT = "\ufe0f"
EMOJI = re.compile(r":([a-z0-9_+'-]+):(?::skin-tone-[2-6]:)?")


def command_of(message: SlackMessage, me: BotIdentity) -> MessageCommand:
    """Return the command in a message: "" for none, "unknown" for any other word after a `!`."""
    text = strip_mention(message.text, me.user)
    if MEMORY.match(text):
        return "memory"
    if FORGET.match(text):
        return "forget"
    if is_stop_word(text, me.name):
        return "stop"
    alone = text.replace(FULL_WIDTH, "!").strip(" \t\n`")
    if TRACE.fullmatch(alone):
        return "trace"
    if HELP.fullmatch(alone):
        return "help"
    if ALLOWED.fullmatch(alone):
        return "allowed"
    if DELETE.fullmatch(alone):
        return "delete"
    if COMMAND.fullmatch(alone):
        return "unknown"
    return ""


def is_stop_word(text: str, name: str = "") -> bool:
    """True if the text only says stop, perhaps politely or with the name."""
    if len(text) > LONGEST_STOP:
        return False
    aside = ASIDE.union(_words(name))
    words = _words(text)
    while words and words[0] in aside:
        del words[0]
    while words and words[-1] in aside:
        del words[-1]
    once = [word for word, _ in groupby(words)]
    return "_".join(once) in STOP


def _words(text: str) -> list[str]:
    text = EMOJI.sub(_as_sign, text)
    text = unicodedata.normalize("NFC", text.casefold())
    return "".join(map(_readable, text)).split()


def _as_sign(emoji: re.Match[str]) -> str:
    if emoji[1] in STOP_EMOJIS:
        return STOP_SIGNS[0]
    return " "


def _readable(sign: str) -> str:
    if sign in STOP_SIGNS:
        return f" {STOP_SIGNS[0]} "
    if unicodedata.category(sign)[0] in "LMN" and sign != VARIANT:
        return sign
    return " "


AT_WORK: tuple[type[Event], ...] = (Input, SoulTurnBegan, QuestionAsked)
"""Kinds of pending entries of a thread that works or waits."""

RECENT_STOPS = 86_400
"""Seconds for which a 🛑 on a message is answered although nothing runs."""


def find_thread_to_stop(journal: Journal, team: str, stop: StopSignal) -> Entry[ConversationOpened] | None:
    if stop.root:
        return conversation_of(journal, thread_key(team, stop.channel, stop.root))
    return conversation_of_message(journal, team, stop.channel, stop.on) or _working_thread_with(
        journal, stop
    )


def find_idle_thread_to_stop(
    journal: Journal, me: BotIdentity, stop: StopSignal
) -> Entry[ConversationOpened] | None:
    """Return the idle conversation where this person expects a stop, or None.

    A 🛑 counts on a recent message of the soul, or on the person's own message to the soul.
    """
    found: Entry[ConversationOpened] | None = None
    if stop.root:
        found = conversation_of(journal, thread_key(me.team, stop.channel, stop.root))
    elif me.is_own_message(stop.whose, ""):
        found = _thread_of_recent_speech(journal, stop)
    elif stop.whose == stop.user:
        said = journal.get(f"msg:{me.team}:{stop.channel}:{stop.on}")
        if said and isinstance(said.event, IncomingMessage):
            found = journal.latest_of_kind(said.thread, ConversationOpened)
    if found is None or journal.pending_entries(*AT_WORK, thread=found.thread):
        return None
    return found


def _thread_of_recent_speech(journal: Journal, stop: StopSignal) -> Entry[ConversationOpened] | None:
    on = float(stop.on)
    if float(stop.ts) - on > RECENT_STOPS:
        return None
    for entry in journal.entries_of_kind(SpeechFinished, at=on - SKEW):
        if entry.event.ts == stop.on:
            known = journal.latest_of_kind(entry.thread, ConversationOpened)
            if known and known.event.channel == stop.channel:
                return known
    return None


def _working_thread_with(journal: Journal, stop: StopSignal) -> Entry[ConversationOpened] | None:
    for one in working_threads(journal):
        if one.event.channel != stop.channel:
            continue
        said: list[Entry[Any]] = journal.thread_entries(one.thread, *OURS)
        if any(entry.event.ts == stop.on for entry in said):
            return one
    return None


def working_threads(journal: Journal) -> list[Entry[ConversationOpened]]:
    threads = dict.fromkeys(entry.thread for entry in reversed(journal.pending_entries(*AT_WORK)))
    found: list[Entry[ConversationOpened]] = []
    for thread in threads:
        found.extend(journal.latest_first(thread, ConversationOpened))
    return found


def may_stop(journal: Journal, thread: str, stop: StopSignal, owners: frozenset[str]) -> bool:
    """True if this person may stop the running work. Anyone may use Slack's button.

    Work requested after the stop goes on.
    """
    work = _stoppable_work(journal, thread)
    if not work or _all_newer(work, stop.ts):
        return False
    if stop.by == "button" or stop.user in owners:
        return True
    return any(entry.event.user == stop.user for entry in of_kind(PersonMessage, work))


def is_stop_late(journal: Journal, thread: str, ts: str) -> bool:
    """True if all work was requested after the stop at `ts`."""
    return _all_newer(_stoppable_work(journal, thread), ts)


def _all_newer(work: Iterable[Entry[Input]], ts: str) -> bool:
    said = [_requested_at(entry.event) for entry in of_kind(PersonMessage, work)]
    return bool(said) and min(said) > moment_of(ts)


def _requested_at(said: PersonMessage) -> Decimal:
    if isinstance(said, ReminderFired):
        return moment_of(said.ts) - SKEW
    return moment_of(said.ts)


def _stoppable_work(journal: Journal, thread: str) -> list[Entry[Input]]:
    return [
        entry
        for entry in _open_inputs(journal, thread)
        if entry.event.rank in (InputRank.MESSAGE, InputRank.STOP)
    ]


def _open_inputs(journal: Journal, thread: str) -> Iterator[Entry[Input]]:
    yield from journal.pending_inputs(thread)
    running: list[Entry[SoulTurnBegan | QuestionAsked]] = journal.pending_entries(
        SoulTurnBegan, QuestionAsked, thread=thread
    )
    for entry in running:
        began = journal.get(f"{entry.event.execution}/began")
        if began and isinstance(began.event, SoulTurnBegan):
            yield from journal.entries_at(began.event.inputs)


def resolve_thread(
    journal: Journal, message: SlackMessage, me: BotIdentity, owners: Collection[str]
) -> SlackMessage:
    """Move a top-level DM message to the conversation that it stops, continues or answers.

    A recorded message stays in its conversation.
    """
    if message.kind != "dm" or message.root != message.ts:
        return message
    known = journal.get(f"msg:{me.team}:{message.channel}:{message.ts}")
    if known:
        found = journal.latest_of_kind(known.thread, ConversationOpened)
    elif command_of(message, me) == "stop":
        found = _working_thread_here(journal, message)
    else:
        found = _thread_waiting_for(journal, message, me, owners)
    if found and found.event.ts:
        return replace(message, root=found.event.ts)
    return message


def _working_thread_here(journal: Journal, message: SlackMessage) -> Entry[ConversationOpened] | None:
    for one in working_threads(journal):
        is_here = one.event.channel == message.channel and one.event.ts
        if is_here and not is_stop_late(journal, one.thread, message.ts):
            return one
    return None


def _thread_waiting_for(
    journal: Journal, message: SlackMessage, me: BotIdentity, owners: Collection[str]
) -> Entry[ConversationOpened] | None:
    if message.change or command_of(message, me):
        return None
    for question in reversed(journal.pending_entries(QuestionAsked)):
        answers = question.event.words or (question.event.resumes and means_continue(message.text))
        theirs = may_answer(question, message.author, owners) and was_written_after(
            journal, question, message.ts
        )
        if answers and theirs:
            for found in journal.latest_first(question.thread, ConversationOpened):
                if found.event.channel == message.channel and found.event.ts:
                    return found
    return None


MAX_REACTION_AGE = 7 * 86_400.0
"""Age in seconds up to which a message of the soul is found for a reaction; the search reads all entries
since then.
"""


class AmbientRecorder:
    """Recorder of ambient messages and reactions of permitted authors. Methods raise JournalError."""

    def __init__(self, workspace: SlackWorkspace, audiences: AudienceTracker) -> None:
        self._journal = workspace.journal
        self._people = workspace.people
        self._me = workspace.me
        self._allowed = workspace.allowed
        self._forgotten = workspace.forgotten
        self._audiences = audiences

    async def record_message(self, message: SlackMessage) -> None:
        where = f"noticed:{self._me.team}:{message.channel}:{message.ts}"
        key = f"{where}:{message.change}:{message.changed}" if message.change else where
        known = message.change and self._journal.get(where)
        if self._journal.get(key) or not (known or self._allowed.may_be_heard(message)):
            return
        words = await self._people.describe(message)
        place = await self._place(
            message.channel, message.kind, message.author, message.changed or message.ts
        )
        event = AmbientMessage(**words, note=message.change)
        await record_said(self._journal, place, event, key)

    async def record_reaction(self, reaction: SlackReaction) -> None:
        """Record a reaction in the conversation of its message, else in the channel's thread."""
        team = self._me.team
        where = f"{team}:{reaction.channel}:{reaction.on}"
        key = f"reaction:{where}:{reaction.user}:{reaction.emoji}:{reaction.ts}"
        kind = ""
        if reaction.channel.startswith("D"):
            kind = "dm"
        if self._journal.get(key) or not self._may_react(reaction, kind):
            return
        if self._forgotten.covers(reaction.user, reaction.ts):
            return
        place = conversation_of_message(
            self._journal, team, reaction.channel, reaction.on
        ) or self._place_of_own_message(reaction)
        if place is None:
            place = await self._place(reaction.channel, kind, reaction.user, reaction.ts)
        event = ReactionChanged(
            user=reaction.user,
            name=await self._people.claim_display_name(reaction.user),
            emoji=reaction.emoji,
            on=reaction.on,
            ts=reaction.ts,
            removed=reaction.removed,
        )
        await record_said(self._journal, place, event, key)

    def _may_react(self, reaction: SlackReaction, kind: str) -> bool:
        if self._me.is_own_message(reaction.user, None):
            return False
        if reaction.user in self._allowed.bots:
            return self._allowed.is_open_to_all(reaction.channel, kind)
        return self._allowed.may_speak(reaction.user, reaction.channel, kind)

    async def _place(self, channel: str, kind: str, person: str, ts: str) -> Entry[ConversationOpened]:
        """Return the channel's own thread, after recording the channel's audience at `ts`."""
        where = await self._people.look_up_conversation(channel, kind, person)
        known = conversation_of(self._journal, thread_key(self._me.team, channel, ""))
        if known:
            await self._audiences.record_found(channel, where.audience, ts)
            return known
        before = self._journal.last_seq_of_all()
        place = await open_channel_thread(
            self._journal, team=self._me.team, channel=channel, where=where, user=person
        )
        await self._audiences.record_opened(place.event, before)
        return place

    def _place_of_own_message(self, reaction: SlackReaction) -> Entry[ConversationOpened] | None:
        on = float(reaction.on)
        if reaction.whose != self._me.user or float(reaction.ts) - on > MAX_REACTION_AGE:
            return None
        said: list[Entry[Any]] = self._journal.entries_of_kind(*OURS, at=max(on - SKEW, 0.0))
        for entry in said:
            if entry.event.ts == reaction.on:
                for place in self._journal.latest_first(root_of(entry.thread), ConversationOpened):
                    if place.event.channel == reaction.channel:
                        return place
        return None
