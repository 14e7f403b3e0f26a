// Open questions to people: who, what, where, since when. The viewer's own buttons work here as in Slack.

import { announce, el, redraw } from "../base/dom.js";
import { full, since, when } from "../base/format.js";
import { markup } from "../base/markup.js";
import { toldPlace } from "../base/names.js";
import { ask, Unreachable } from "../base/request.js";

/** The value of a button that opens a form, which only a press in Slack can do. */
const FORM = "open-form";

export class Questions {
  title = "Questions";
  about = "What the soul waits for people to answer";
  tools = [];

  constructor({ onEntry }) {
    this.onEntry = onEntry;
    this.body = el("div", { className: "cards" });
    /** Of each question, by seq, why a press was not taken. */
    this.refused = new Map();
    this.pressing = new Set();
  }

  async refresh() {
    const { open, answered, viewer } = await ask("/console/questions");
    if (!open) return;
    this.viewer = viewer;
    const nothing = el("p", { className: "empty" }, "Nobody is asked anything. Whatever waits for you would stand here.");
    redraw(
      this.body,
      ...(open.length ? open.map((one) => this.card(one)) : [nothing]),
      ...(answered.length ? [el("h3", {}, "Answered lately"), ...answered.map((one) => this.card(one))] : []),
    );
  }

  card(one) {
    const open = one.answered_at === undefined;
    return el(
      "article",
      { className: open ? "question open" : "question" },
      el(
        "p",
        { className: "by" },
        el("b", {}, open && one.to.you ? "You are asked" : `${names(one.to)} ${open ? (one.to.names.length > 1 ? "are" : "is") : "had been"} asked`),
        el("span", { className: "where" }, one.place ? toldPlace(one) : "in a thread"),
        el("time", { title: full(one.at) }, open ? `for ${since(one.at)}` : when(one.answered_at)),
      ),
      open && one.to.you && one.to.names.length > 1 && el("p", { className: "note" }, `${names(one.to)} may answer.`),
      el("div", { className: "text" }, markup(one.text || "…")),
      open && one.yours && !one.pressed ? this.buttons(one) : marks(one, open),
      this.refused.has(one.seq) && open && el("p", { className: "refused", role: "alert" }, this.refused.get(one.seq)),
      el("p", { className: "note" }, state(one, open, this.viewer), open && [" ", place(one)]),
      el("button", { type: "button", className: "link", dataset: { key: one.seq }, onclick: () => this.onEntry(one.seq) }, "Show it in the journal"),
    );
  }

  buttons(one) {
    const button = (value, index) => {
      const [label, key] = [one.labels[index], `${one.seq} ${value}`];
      if (value === FORM) return el("p", { className: "note" }, `${label}: its form opens where it is asked.`);
      return el("button", { type: "button", className: "press", disabled: this.pressing.has(one.seq), dataset: { key }, onclick: () => this.press(one, value, label) }, label);
    };
    return one.choices.length > 0 && el("div", { className: "actions", role: "group", "aria-label": "Its buttons" }, one.choices.map(button));
  }

  /** Press a button. While that is on its way, and wherever it was taken, no other one of the question counts. */
  async press({ seq }, value, label) {
    if (this.pressing.has(seq)) return;
    this.pressing.add(seq);
    for (const button of this.body.querySelectorAll(`[data-key^="${seq} "]`)) button.disabled = true;
    this.refused.delete(seq);
    try {
      const answer = await send(seq, value);
      if (answer.ok) announce(`You pressed ${label}.`);
      else this.refused.set(seq, answer.error);
    } finally {
      this.pressing.delete(seq);
    }
    await this.refresh();
    if (document.activeElement === document.body) this.body.querySelector(`[data-key="${seq}"]`)?.focus();
  }
}

async function send(seq, value) {
  const headers = { "Content-Type": "application/json" };
  try {
    return await ask(`/console/questions/${seq}`, { method: "POST", headers, body: JSON.stringify({ value }) });
  } catch (error) {
    if (error instanceof Unreachable) return { error: "The daemon did not answer: press again when it is back. A press counts once." };
    throw error;
  }
}

const names = ({ names }) => names.map(({ name }) => name).join(" or ") || "Somebody";

/** Its buttons as marks, for those who may not press them: open, chosen or gone. */
function marks({ choices, labels, answer, pressed }, open) {
  const chosen = open ? pressed?.value : answer;
  const state = (choice) => (chosen === undefined ? "open" : choice === chosen ? "chosen" : "gone");
  const one = (choice, index) => el("li", { dataset: { state: state(choice) } }, labels[index]);
  return choices.length > 0 && el("ul", { className: "buttons", "aria-label": "Its buttons" }, choices.map(one));
}

/** Where its buttons stand, or where it waits: in the local chat, or in Slack. */
function place({ thread, choices, yours, link }) {
  const stands = choices.length ? `${yours ? "The same" : "Its"} buttons stand beneath the question` : "It is asked";
  if (document.body.dataset.world === "local") return [`${stands} `, el("a", { href: `#${thread}`, dataset: { key: thread } }, "in the chat"), "."];
  return link && [`${stands} `, el("a", { href: link, dataset: { key: thread }, target: "_blank", rel: "noopener noreferrer" }, "in Slack"), "."];
}

function state({ choices, labels, words, by, answer, yours, why, pressed }, open, viewer) {
  const label = (choice) => labels[choices.indexOf(choice)];
  if (open && pressed) return `${pressed.by} pressed ${label(pressed.value)}. The soul takes it up as soon as it can.`;
  if (open && choices.length) return yours ? `You press as ${viewer.name}.` : why;
  if (open) return words ? "It waits for a message in that thread." : "It goes on when somebody says “go on” there.";
  if (!by) return "Nobody answered in time.";
  return choices.includes(answer) ? `${by} pressed ${label(answer)}. The buttons are gone.` : `${by} answered: ${answer}`;
}
