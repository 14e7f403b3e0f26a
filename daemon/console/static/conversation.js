// The middle pane: one channel or DM, its threads in order, live.

import { announce, atEnd, byId, el, toEnd } from "./dom.js";
import { day } from "./format.js";
import { News } from "./news.js";
import { gesture } from "./slack.js";
import { Thread } from "./thread.js";

const PAGE = 30;

export class Conversation {
  /** `onThread(channel, ts)` hears which thread is open (ts null: none). */
  constructor({ onThread }) {
    this.onThread = onThread;
    this.box = byId("messages");
    this.threads = new Map();
    this.missed = [];
    this.news = new News({ id: "chat-news", onPress: () => toEnd(this.box) });
    this.news.watch(this.box);
  }

  /** Show this place as this person sees it. `world` is {slack, members, names, soul, mentions}. */
  async open(place, world, statuses) {
    if (this.place?.id !== place.id) this.clear();
    this.place = place;
    this.world = { ...world, channel: place.id };
    byId("place").textContent = place.member ? place.label : `# ${place.label}`;
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

  show({ messages, more }, events) {
    const writing = this.box.querySelector("textarea:focus");
    this.clear();
    for (const message of messages) this.put(message);
    if (!messages.length) this.box.append(hello(this.place, this.world));
    if (more) this.box.prepend(this.earlier());
    for (const event of events) this.hear(event);
    this.select(this.threads.has(this.selected) ? this.selected : (this.inOrder().at(-1)?.ts ?? null));
    if (writing) this.threads.get(this.selected)?.turnTo();
    toEnd(this.box);
    this.news.clear();
  }

  clear() {
    this.threads.clear();
    this.box.replaceChildren();
  }

  /** The last roots (before `latest`) with their replies, and whether there are more before them. */
  async read(latest) {
    const { slack } = this.world;
    const channel = this.place.id;
    const repliesTo = ({ ts, reply_count: count }) =>
      count ? slack.all("conversations.replies", "messages", { channel, ts }) : [];
    const { messages, has_more: more } = await slack.call("conversations.history", { channel, latest, limit: PAGE });
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
    const stay = atEnd(this.box);
    if (event.type === "message" || event.type === "changed") this.put(event.message);
    if (event.type === "ephemeral") this.put(event.message);
    if (event.type === "deleted") this.drop(event.ts);
    if (event.type === "status") this.think(event);
    if (event.type === "session") this.threads.get(event.thread_ts)?.work(event.user, event.working);
    if (stay) toEnd(this.box);
    else if (event.type === "message" && event.message.user !== this.world.me) this.news.add(1);
    if (event.message) this.tell(event);
  }

  put(message) {
    const root = message.thread_ts ?? message.ts;
    const thread = this.threads.get(root) ?? (root === message.ts ? this.begin(message) : null);
    thread?.put(message);
  }

  begin(root) {
    const thread = new Thread(root, this.world, {
      post: (text, files) => this.post(text, files, root.ts),
      stop: () => this.stop(root.ts),
      onOpen: () => this.select(root.ts),
    });
    this.box.querySelector(".hello")?.remove();
    const later = this.inOrder().find((other) => other.ts > root.ts);
    this.threads.set(root.ts, thread);
    thread.select(root.ts === this.selected);
    this.box.insertBefore(thread.node, later?.node ?? null);
    this.markDays();
    return thread;
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
    const emptied = this.threads.get(ts);
    if (emptied && !emptied.messages.size) {
      emptied.node.remove();
      this.threads.delete(ts);
    }
  }

  think({ thread_ts, user, status, loading_messages }) {
    const words = status || loading_messages?.[0];
    this.threads.get(thread_ts)?.think(status && words ? `${this.world.names[user]} ${words}` : "");
  }

  /** Press Stop; that there is nothing to stop any more needs no words. */
  stop(thread_ts) {
    return gesture("stop", { user: this.world.me, channel: this.place.id, thread_ts }).catch(() => {});
  }

  async post(text, files, thread_ts) {
    const channel = this.place.id;
    const { slack, mentions } = this.world;
    const said = { channel, text: mentions(text), thread_ts };
    const ts = files.length ? await slack.share(files, said) : (await slack.call("chat.postMessage", said)).ts;
    if (thread_ts || this.place.id !== channel) return;
    this.select(ts);
    toEnd(this.box);
  }

  /** Open this thread, now or, when its message is still to come, as soon as it begins. */
  select(ts) {
    this.selected = ts;
    for (const thread of this.threads.values()) thread.select(thread.ts === ts);
    this.onThread(this.place.id, ts);
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
    const height = this.box.scrollHeight;
    for (const message of messages) this.put(message);
    button.remove();
    if (more) this.box.prepend(this.earlier());
    this.box.scrollTop += this.box.scrollHeight - height;
  }
}

function hello(place, { names, soul }) {
  const withSoul = place.member?.id === soul;
  const promise = "Its answer appears here as it is thought; what it thinks appears in the journal.";
  const nothing = "Nothing has been said here yet.";
  return el(
    "div",
    { className: "hello" },
    withSoul && el("span", { className: "mark", "aria-hidden": "true" }),
    el("h3", {}, withSoul ? `Say something to ${names[soul]}` : place.label),
    el("p", {}, withSoul ? promise : nothing),
  );
}
