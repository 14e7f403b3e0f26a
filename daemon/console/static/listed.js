// A thread as it stands in the conversation: its last replies, and where one replies, beneath it or beside.

import { Composer } from "./composer.js";
import { el } from "./dom.js";
import { Thread } from "./thread.js";

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
