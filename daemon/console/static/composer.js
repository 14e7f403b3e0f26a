// Where one writes: Enter sends, Shift+Enter begins a new line, what was not sent stays and says why.

import { Attachments } from "./attachments.js";
import { el } from "./dom.js";
import { Unreachable } from "./reach.js";

const AWAY = "The daemon cannot be reached; your text is kept. Try again in a moment.";

/** What was written and not sent: one draft for each place and each thread, while the page is open. */
const drafts = new Map();

export class Composer {
  /** Fills this form. `send(text, files)` posts and may throw. What is dropped on `drop` goes with it.
      Nobody can write until `turnTo` says where to. */
  constructor(form, { send, tools = [], drop = form }) {
    this.send = send;
    this.refused = el("p", { className: "refused", role: "alert", hidden: true });
    this.field = el("textarea", {
      rows: 1,
      maxLength: 40000,
      disabled: true,
      oninput: () => drafts.set(this.place, this.field.value),
      onkeydown: (event) => this.onKey(event),
    });
    this.attached = new Attachments({ onWrong: (why) => this.tell(why), onWrite: () => this.field.focus() });
    this.attached.takeDrops(drop, form);
    const { button: add, picker, chips } = this.attached;
    const button = el("button", { type: "submit", className: "send" }, "Send");
    const foot = tools.length ? el("div", { className: "tools" }, tools, add, button) : add;
    form.replaceChildren(el("div", { className: "writing" }, this.refused, chips, this.field, foot, picker));
    form.onsubmit = (event) => (event.preventDefault(), this.submit());
  }

  /** Write there from now on, and go on with what was left unsent. */
  turnTo(place, label) {
    this.place = place;
    this.attached.turnTo(place);
    this.field.value = drafts.get(place) ?? "";
    this.field.disabled = false;
    this.field.placeholder = label;
    this.field.setAttribute("aria-label", label);
    this.refused.hidden = true;
  }

  /** Nobody can write or send until `turnTo` says where to. */
  rest() {
    this.field.disabled = true;
  }

  onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit();
  }

  async submit() {
    const { place } = this;
    const text = this.field.value;
    if (this.field.disabled || (!text.trim() && !this.attached.files.length)) return;
    const files = this.attached.take();
    drafts.delete(place);
    this.turnTo(place, this.field.placeholder);
    try {
      await this.send(escaped(text.trim()), files);
    } catch (error) {
      this.refuse(place, text, files, error);
    }
  }

  /** It waits there again, before what was written since. */
  refuse(place, text, files, error) {
    drafts.set(place, [text, drafts.get(place)].filter(Boolean).join("\n"));
    this.attached.giveBack(place, files);
    if (this.place !== place) return;
    this.field.value = drafts.get(place);
    this.tell(error instanceof Unreachable ? AWAY : `This was not sent: ${error.message}.`);
  }

  tell(why) {
    this.refused.textContent = why;
    this.refused.hidden = false;
  }
}

/** Slack's clients escape three characters in what people type. */
export function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
