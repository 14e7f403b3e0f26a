// One thread in a panel beside the conversation: all of its replies, and a composer of its own.

import { byId } from "../base/dom.js";
import { Composer } from "./composer.js";
import { PinnedList } from "./pinned_list.js";
import { Thread } from "./thread.js";

export class Panel {
  /** `post(text, files)` replies there, `spell(text)` is what it says for a text, `stop()` presses Stop, `onClose()` is asked to close it. */
  constructor({ post, spell, stop, onClose }) {
    this.stop = stop;
    this.node = byId("panel");
    this.place = byId("panel-place");
    this.box = byId("panel-messages");
    this.end = new PinnedList(this.box);
    this.composer = new Composer(byId("panel-composer"), { send: post, spell, drop: this.node });
    this.thread = null;
    byId("panel-close").addEventListener("click", onClose);
  }

  /** The root of the thread that is shown; null: it is closed. */
  get ts() {
    return this.thread?.ts ?? null;
  }

  get focused() {
    return this.node.contains(document.activeElement);
  }

  /** Show this thread with these messages: another one from its end, the same one where one reads it. */
  show(ts, messages, { world, place }) {
    const other = this.ts !== ts;
    const stay = other || this.end.on;
    this.thread = new Thread(ts, world, { stop: this.stop });
    for (const message of messages) this.thread.put(message);
    this.place.replaceChildren(...place);
    this.box.replaceChildren(this.thread.node);
    this.node.hidden = false;
    document.body.classList.add("with-panel");
    if (other) this.composer.turnTo(ts, "Reply in this thread");
    if (stay) this.end.toEnd();
  }

  hide() {
    this.thread = null;
    this.node.hidden = true;
    document.body.classList.remove("with-panel");
  }

  /** A message, new or changed: who reads the end goes on reading it. */
  put(message) {
    this.thread.put(message);
    if (this.end.on) this.end.toEnd();
  }

  view(ts) {
    return this.thread?.view(ts) ?? null;
  }

  think(text) {
    this.thread.think(text);
  }

  work(user, working) {
    this.thread.work(user, working);
  }

  write() {
    this.composer.field.focus();
  }
}
