// A thread: its root, the replies below it, and the status.

import { el } from "../base/dom.js";
import { Composer } from "./composer.js";
import { messageView } from "./message.js";

export class Thread {
  /** Of its replies the last `tail` stand here; `onAll()` is asked for all of them. `stop()` presses Stop. */
  constructor(ts, world, { stop, tail = Infinity, onAll = () => {} }) {
    this.world = world;
    this.ts = ts;
    this.tail = tail;
    this.messages = new Map();
    this.root = el("div", {});
    this.more = el("button", { type: "button", className: "all-replies", hidden: true, onclick: onAll });
    this.replies = el("div", { className: "replies" });
    this.words = el("span", { className: "doing" });
    this.stop = el("button", { type: "button", className: "stop", hidden: true, onclick: stop }, "Stop");
    this.status = el("p", { className: "status", hidden: true }, this.words, this.stop);
    this.working = new Set();
    const parts = [this.root, this.more, this.replies, this.status];
    this.node = el("section", { className: "thread", dataset: { ts }, "aria-label": "Thread" }, parts);
  }

  /** Its messages, from the first one. */
  all() {
    const known = [...this.messages.values()].map(({ message }) => message);
    return known.sort((one, other) => (one.ts < other.ts ? -1 : 1));
  }

  /** How this message looks here; null where it is not of this thread. */
  view(ts) {
    return this.messages.get(ts)?.view ?? null;
  }

  /** Show a message of this thread, new or changed. */
  put(message) {
    const view = messageView(message, this.world);
    const known = this.messages.get(message.ts);
    this.messages.set(message.ts, { message, view });
    if (known) known.view.replaceWith(view);
    else if (message.ts === this.ts) this.root.append(view);
    else this.insert(view, message.ts);
    this.fold();
  }

  insert(view, ts) {
    const later = [...this.replies.children].find((other) => other.dataset.ts > ts);
    this.replies.insertBefore(view, later ?? null);
  }

  drop(ts) {
    this.messages.get(ts)?.view.remove();
    this.messages.delete(ts);
    this.fold();
  }

  /** Of many replies only the last ones stand here, and how many there are. */
  fold() {
    const replies = [...this.replies.children];
    const folded = Math.max(0, replies.length - this.tail);
    for (const [index, reply] of replies.entries()) reply.hidden = index < folded;
    this.more.hidden = !folded;
    this.more.textContent = `Show all ${replies.length} replies`;
  }

  /** Somebody thinks and works here as there. */
  goOnLike(other) {
    this.working = new Set(other.working);
    this.think(other.words.textContent);
  }

  think(text) {
    this.words.textContent = text;
    this.showStatus();
  }

  /** While an agent's session is processing, Slack offers to stop it. */
  work(user, working) {
    this.working[working ? "add" : "delete"](user);
    this.showStatus();
  }

  showStatus() {
    this.stop.hidden = !this.working.size;
    this.status.hidden = !this.words.textContent && this.stop.hidden;
  }
}

// A thread within the conversation: its last replies, and a composer below it or in the panel.

export class ListedThread extends Thread {
  /** `onOpen()` hears that one turns to it, `onBeside()` is asked to show it beside the conversation. There one
      replies where nothing is to be written beneath it: where there is no `post(text, files)`. */
  constructor(ts, world, { post, onOpen, onBeside, ...more }) {
    super(ts, world, { ...more, onAll: onBeside });
    this.onOpen = onOpen;
    this.onBeside = onBeside;
    this.composer = null;
    this.button = el("button", { type: "button", className: "reply-button", onclick: () => this.write() }, "Reply");
    this.node.append(this.button);
    this.node.addEventListener("click", onOpen);
    this.node.addEventListener("focusin", ({ target }) => this.onFocus(target));
    if (post) this.takeReplies(post);
  }

  takeReplies(post) {
    const form = el("form", { className: "reply" });
    this.composer = new Composer(form, { send: post, spell: this.world.mentions });
    this.composer.turnTo(this.ts, "Reply in this thread");
    this.node.append(form);
  }

  /** Who comes by keyboard opens it. A mouse does so by its click: what moves before that, it would miss. */
  onFocus(target) {
    if (target !== this.button && target.matches(":focus-visible")) this.onOpen();
  }

  write() {
    this.onOpen();
    if (this.composer) this.composer.field.focus();
    else this.onBeside();
  }

  select(open) {
    this.node.classList.toggle("open", open);
  }

  /** It stands beside the conversation, or no longer: what was begun there is gone on with here. */
  mark(beside) {
    this.node.classList.toggle("in-panel", beside);
    if (!beside) this.composer?.turnTo(this.ts, "Reply in this thread");
  }

  /** Who looked at it beside goes on here. */
  resume() {
    const button = this.more.hidden ? this.button : this.more;
    button.focus({ preventScroll: true });
  }
}
