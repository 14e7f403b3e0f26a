// A thread in the middle pane: its root, the replies beneath it, who is thinking, and where one replies.

import { Composer } from "./composer.js";
import { el } from "./dom.js";
import { messageView } from "./message.js";

export class Thread {
  /** `post(text, files)` replies; `stop()` presses Stop; `onOpen()` is called when one turns to this thread. */
  constructor(root, world, { post, stop, onOpen }) {
    this.world = world;
    this.ts = root.ts;
    this.messages = new Map();
    this.onOpen = onOpen;
    this.root = el("div", {});
    this.replies = el("div", { className: "replies" });
    this.words = el("span", { className: "doing" });
    this.stop = el("button", { type: "button", className: "stop", hidden: true, onclick: stop }, "Stop");
    this.status = el("p", { className: "status", hidden: true }, this.words, this.stop);
    this.working = new Set();
    const form = el("form", { className: "reply" });
    this.composer = new Composer(form, { send: post });
    this.composer.turnTo(root.ts, "Reply in this thread");
    const button = el("button", { type: "button", className: "reply-button", onclick: () => this.turnTo() }, "Reply");
    this.node = el(
      "section",
      {
        className: "thread",
        dataset: { ts: root.ts },
        "aria-label": "Thread",
        onclick: onOpen,
        onfocusin: ({ target }) => this.onFocus(target, button),
      },
      this.root,
      this.replies,
      this.status,
      button,
      form,
    );
    this.put(root);
  }

  /** Who comes by keyboard opens it. A mouse does so by its click: what moves before that, it would miss. */
  onFocus(target, button) {
    if (target !== button && target.matches(":focus-visible")) this.onOpen();
  }

  turnTo() {
    this.onOpen();
    this.composer.field.focus();
  }

  /** Show a message of this thread, new or changed. */
  put(message) {
    const view = messageView(message, this.world);
    const known = this.messages.get(message.ts);
    this.messages.set(message.ts, { message, view });
    if (known) known.view.replaceWith(view);
    else if (message.ts === this.ts) this.root.append(view);
    else this.insert(view, message.ts);
  }

  insert(view, ts) {
    const later = [...this.replies.children].find((other) => other.dataset.ts > ts);
    this.replies.insertBefore(view, later ?? null);
  }

  drop(ts) {
    this.messages.get(ts)?.view.remove();
    this.messages.delete(ts);
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

  select(open) {
    this.node.classList.toggle("open", open);
  }
}
