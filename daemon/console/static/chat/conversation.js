// The middle pane: one channel or DM with its threads in order, live, and one of them in a panel beside it.

import { announce, byId, el } from "../base/dom.js";
import { day } from "../base/format.js";
import { News } from "../base/list_ends.js";
import { chatPlace } from "../base/names.js";
import { Wish } from "../base/request.js";
import { Panel } from "./panel.js";
import { PinnedList } from "./pinned_list.js";
import { gesture } from "./slack_client.js";
import { ListedThread } from "./thread.js";

const PAGE = 30;
/** So many roots are read anew at the most of those that were shown. */
const MOST = 200;
/** So many of the last replies to a message stand beneath it: in a DM, whose answers are all such replies, more. */
const TAIL = { channel: 2, dm: 4 };

export class Conversation {
  /** `onThread(channel, ts)` hears which thread is open (ts null: none), `onBeside()` that `beside` is another one. */
  constructor({ onThread, onBeside }) {
    this.onThread = onThread;
    this.onBeside = onBeside;
    this.box = byId("messages");
    this.threads = new Map();
    this.missed = [];
    this.opening = new Wish();
    this.end = new PinnedList(this.box);
    this.news = new News({ id: "chat-news", onPress: () => this.end.toEnd() });
    this.news.watch(this.box);
    this.beside = null;
    this.panel = new Panel({
      post: (text, files) => this.post(text, files, this.panel.ts),
      spell: (text) => this.world.mentions(text),
      stop: () => this.stop(this.panel.ts),
      onClose: () => this.closeBeside(),
    });
  }

  /** Show this place as this person sees it. `world` is {slack, members, names, soul, mentions}; `beside` is the
      thread that stands beside it: where one is there already, the same one. */
  async open(place, world, statuses, beside = null) {
    const same = this.place?.id === place.id;
    if (!same) this.clear();
    if (beside || !same) {
      this.closeBeside();
      this.beside = beside;
    }
    this.place = place;
    this.world = { ...world, channel: place.id };
    byId("place").replaceChildren(...chatPlace(place));
    byId("about").textContent = place.about;
    const missed = (this.missed = []);
    const [read, standing] = await Promise.all([this.read(), statuses]);
    if (this.missed !== missed) return; // it was opened again meanwhile
    this.missed = null;
    this.show(read, [...standing, ...missed]);
  }

  /** Post as this person from now on, though what they see is still on its way. */
  postAs(world) {
    this.world = { ...this.world, ...world };
  }

  /** What is read anew stays where one reads it, and who reads its end goes on reading that. */
  show({ messages, more }, events) {
    const writing = this.box.querySelector("textarea:focus");
    const seen = this.end.on ? null : this.inSight();
    this.clear();
    for (const message of messages) this.put(message);
    if (!messages.length) this.box.append(hello(this.place, this.world));
    if (more) this.box.prepend(this.earlier());
    for (const event of events) this.hear(event);
    if (this.beside) this.openBeside(this.beside);
    else this.select(this.threads.has(this.selected) ? this.selected : (this.inOrder().at(-1)?.ts ?? null));
    if (writing) this.threads.get(this.selected)?.write();
    const same = this.threads.get(seen?.ts);
    if (!same) return this.toNewest();
    this.box.scrollTop += same.node.getBoundingClientRect().top - seen.top;
    this.end.letGo();
  }

  /** The first thread in sight, and where it stands; null where there is none. */
  inSight() {
    const { top } = this.box.getBoundingClientRect();
    const thread = this.inOrder().find(({ node }) => node.getBoundingClientRect().bottom > top);
    return thread ? { ts: thread.ts, top: thread.node.getBoundingClientRect().top } : null;
  }

  toNewest() {
    this.end.toEnd();
    this.news.clear();
  }

  /** Nothing is shown, and nothing can be answered, until a place is opened. */
  leave() {
    this.closeBeside();
    this.clear();
  }

  clear() {
    this.threads.clear();
    this.box.replaceChildren();
  }

  /** The last roots (before `latest`) with their replies, and whether there are more before them. */
  async read(latest) {
    const { slack } = this.world;
    const channel = this.place.id;
    const limit = latest ? PAGE : Math.min(MOST, Math.max(PAGE, this.threads.size));
    const repliesTo = ({ ts, reply_count: count }) => (count ? thread(slack, channel, ts) : []);
    const { messages, has_more: more } = await slack.call("conversations.history", { channel, latest, limit });
    const roots = messages.reverse();
    const replies = await Promise.all(roots.map(repliesTo));
    return { messages: [...roots, ...replies.flat()], more };
  }

  inOrder() {
    return [...this.threads.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
  }

  /** A live event of this place; what comes while its history is on its way waits for it. */
  hear(event) {
    if (this.missed) return void this.missed.push(event);
    const stay = this.end.on;
    if (event.type === "message" || event.type === "changed") this.put(event.message);
    if (event.type === "ephemeral") this.put(event.message);
    if (event.type === "deleted") this.drop(event.ts);
    if (event.type === "status") this.think(event);
    if (event.type === "session") for (const thread of this.shown(event.thread_ts)) thread.work(event.user, event.working);
    if (stay) this.end.toEnd();
    else if (event.type === "message" && event.message.user !== this.world.me) this.news.add(1);
    if (event.message) this.tell(event);
  }

  /** Where this thread is shown: in the list, beside it, or both. */
  shown(ts) {
    return [this.threads.get(ts), this.panel.ts === ts && this.panel].filter(Boolean);
  }

  put(message) {
    const root = message.thread_ts ?? message.ts;
    if (root === message.ts && !this.threads.has(root)) this.begin(root);
    for (const thread of this.shown(root)) thread.put(message);
  }

  begin(ts) {
    const dm = Boolean(this.place.member);
    const thread = new ListedThread(ts, this.world, {
      post: dm ? (text, files) => this.post(text, files, ts) : null,
      tail: dm ? TAIL.dm : TAIL.channel,
      stop: () => this.stop(ts),
      onOpen: () => this.turnTo(ts),
      onBeside: () => this.openBeside(ts, true),
    });
    this.box.querySelector(".hello")?.remove();
    const later = this.inOrder().find((other) => other.ts > ts);
    this.threads.set(ts, thread);
    thread.select(ts === this.selected);
    this.box.insertBefore(thread.node, later?.node ?? null);
    this.markDays();
  }

  markDays() {
    for (const old of this.box.querySelectorAll(".day")) old.remove();
    let last = null;
    for (const { ts, node } of this.inOrder()) {
      const today = day(ts);
      if (today !== last) node.before(el("p", { className: "day" }, today));
      last = today;
    }
  }

  drop(ts) {
    for (const thread of this.threads.values()) thread.drop(ts);
    this.panel.thread?.drop(ts);
    const emptied = this.threads.get(ts);
    if (emptied && !emptied.messages.size) {
      emptied.node.remove();
      this.threads.delete(ts);
    }
  }

  think({ thread_ts, user, status, loading_messages }) {
    const words = status || loading_messages?.[0];
    for (const thread of this.shown(thread_ts)) thread.think(status && words ? `${this.world.names[user]} ${words}` : "");
  }

  /** Press Stop; that there is nothing to stop any more needs no words. */
  stop(thread_ts) {
    return gesture("stop", { user: this.world.me, channel: this.place.id, thread_ts }).catch(() => {});
  }

  /** Say it here; who begins a thread so turns to it, unless they turned elsewhere meanwhile. */
  async post(text, files, thread_ts) {
    const wanted = this.opening.begin();
    const channel = this.place.id;
    const { slack, mentions } = this.world;
    const said = { channel, text: mentions(text), thread_ts };
    const ts = files.length ? await slack.share(files, said) : (await slack.call("chat.postMessage", said)).ts;
    if (thread_ts || this.place.id !== channel || !wanted()) return;
    this.closeBeside();
    this.select(ts);
    this.end.toEnd();
  }

  /** Open this thread, now or, when its message is still to come, as soon as it begins. */
  select(ts) {
    this.selected = ts;
    for (const thread of this.threads.values()) thread.select(thread.ts === ts);
    this.onThread(this.place.id, ts);
    if (this.beside && this.beside !== ts) this.openBeside(ts);
  }

  /** One turns to this thread oneself. */
  turnTo(ts) {
    this.opening.begin();
    this.select(ts);
  }

  /** Show this thread beside the list; where `write`, one goes on there. */
  async openBeside(ts, write = false) {
    if (write) this.opening.begin();
    this.beside = ts;
    this.select(ts);
    const listed = this.threads.get(ts);
    const messages = listed ? listed.all() : await thread(this.world.slack, this.place.id, ts).catch(() => []);
    if (this.beside !== ts) return;
    if (!messages.length) return this.closeBeside(); // it is not there any more
    this.panel.show(ts, messages, { world: this.world, place: chatPlace(this.place) });
    if (listed) this.panel.thread.goOnLike(listed);
    if (write) this.panel.write();
    this.markBeside();
  }

  /** The list alone again: who was in the panel goes on at the thread that stood there. */
  closeBeside() {
    if (this.beside === null) return;
    const { ts, focused } = this.panel;
    this.beside = null;
    this.panel.hide();
    if (focused) this.threads.get(ts)?.resume();
    this.markBeside();
  }

  markBeside() {
    for (const thread of this.threads.values()) thread.mark(thread.ts === this.panel.ts);
    this.onBeside();
  }

  /** The view of this message, which can be seen from now on; null where it is not known here. */
  reveal(ts) {
    const beside = this.panel.view(ts);
    const thread = this.inOrder().find((one) => one.view(ts));
    if (beside || !thread) return beside;
    const listed = thread.view(ts);
    if (listed.hidden) this.openBeside(thread.ts);
    else if (!listed.checkVisibility({ visibilityProperty: true })) this.closeBeside(); // the panel lies upon it
    return this.panel.view(ts) ?? listed;
  }

  /** Read out what others say once it stands. */
  tell({ type, message }) {
    const done = type === "message" ? !message.streaming : this.streamed === message.ts && !message.streaming;
    if (message.streaming) this.streamed = message.ts;
    const words = [message.text, ...(message.files ?? []).map(({ name }) => name)].filter(Boolean).join(", ");
    if (done) announce(`${this.world.names[message.user] ?? "Someone"}: ${words}`);
  }

  earlier() {
    const onclick = (event) => this.more(event.target);
    return el("button", { type: "button", className: "earlier", onclick }, "Earlier messages");
  }

  async more(button) {
    const { messages, more } = await this.read(this.inOrder()[0].ts);
    if (!button.isConnected) return; // another place is shown, or this one anew
    const height = this.box.scrollHeight;
    for (const message of messages) this.put(message);
    button.remove();
    if (more) this.box.prepend(this.earlier());
    this.box.scrollTop += this.box.scrollHeight - height;
  }
}

/** The messages of a thread. */
function thread(slack, channel, ts) {
  return slack.all("conversations.replies", "messages", { channel, ts });
}

function hello(place, { names, soul }) {
  const withSoul = place.member?.id === soul;
  const promise = "Its answer appears here word by word. What it thinks appears in the journal.";
  const nothing = "There are no messages here yet.";
  return el(
    "div",
    { className: "hello" },
    withSoul && el("span", { className: "mark", "aria-hidden": "true" }),
    el("h3", {}, withSoul ? `Say something to ${names[soul]}` : place.label),
    el("p", {}, withSoul ? promise : nothing),
  );
}
