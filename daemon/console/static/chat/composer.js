// The composer: Enter sends, Shift+Enter begins a new line, an unsent text stays and says why.

import { el } from "../base/dom.js";
import { count } from "../base/format.js";
import { Unreachable } from "../base/request.js";
import { Attachments, MOST } from "./attachments.js";

/** Characters that one message holds in Slack. */
const LONGEST = 40_000;
const AS_FILE = "pasted-text.txt";
const AWAY = "The daemon cannot be reached; your text is kept. Try again in a moment.";

/** What was written and not sent: one draft for each place and each thread, while the page is open. */
const drafts = new Map();

export class Composer {
  /** Fills this form. `send(text, files)` posts and may throw; `spell(text)` is what it posts for a text. What is
      dropped on `drop` goes with it. Nobody can write until `turnTo` says where to. */
  constructor(form, { send, spell, tools = [], drop = form }) {
    this.send = send;
    this.spell = spell;
    this.refused = el("p", { className: "refused", role: "alert", hidden: true });
    this.long = el("p", { role: "alert" });
    const asFile = el("button", { type: "button", className: "as-file", onclick: () => this.makeFile() }, "Make it a text file");
    this.tooLong = el("div", { className: "too-long", hidden: true }, this.long, asFile);
    this.field = el("textarea", {
      rows: 1,
      disabled: true,
      oninput: () => this.onInput(),
      onkeydown: (event) => this.onKey(event),
    });
    this.attached = new Attachments({ onWrong: (why) => this.tell(why), onWrite: () => this.field.focus() });
    this.attached.takeDrops(drop, form);
    const { button: add, picker, chips } = this.attached;
    const button = el("button", { type: "submit", className: "send" }, "Send");
    const foot = tools.length ? el("div", { className: "tools" }, tools, add, button) : add;
    form.replaceChildren(el("div", { className: "writing" }, this.refused, this.tooLong, chips, this.field, foot, picker));
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
    this.measure();
  }

  onInput() {
    drafts.set(this.place, this.field.value);
    this.measure();
  }

  /** True if it fits into one message. Nothing of it is cut: who wrote more is told so, before they send it. */
  measure() {
    const long = [...this.spell(toSend(this.field.value))].length;
    const fits = long <= LONGEST;
    const words = fits ? "" : `This is too long for one message: ${count(long)} characters, and ${count(LONGEST)} are the most. Shorten it, or share it as a file.`;
    if (this.long.textContent !== words) this.long.textContent = words;
    this.tooLong.hidden = fits;
    return fits;
  }

  /** What was written goes along as a file, and there is room for a few words beside it. */
  makeFile() {
    if (this.attached.files.length === MOST) return this.tell(`At most ${MOST} files go with one message. Take one off first.`);
    this.attached.add([new File([this.field.value], AS_FILE, { type: "text/plain" })]);
    this.field.value = "";
    this.onInput();
    this.field.focus();
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
    if (!this.measure()) return this.field.focus();
    const files = this.attached.take();
    drafts.delete(place);
    this.turnTo(place, this.field.placeholder);
    try {
      await this.send(toSend(text), files);
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
    this.measure();
    this.tell(error instanceof Unreachable ? AWAY : `This was not sent: ${error.message}.`);
  }

  tell(why) {
    this.refused.textContent = why;
    this.refused.hidden = false;
  }
}

const toSend = (text) => escaped(text.trim());

/** Slack's clients escape three characters in what people type. */
export function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
