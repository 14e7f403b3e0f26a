// What people are asked: who, what, where, since when, and how its buttons stand.

import { el, redraw } from "./dom.js";
import { full, since, when } from "./format.js";
import { markup } from "./markup.js";
import { ask } from "./reach.js";

export class Questions {
  title = "Questions";
  about = "What the soul waits for people to answer";
  tools = [];

  constructor({ onEntry }) {
    this.onEntry = onEntry;
    this.body = el("div", { className: "cards" });
  }

  async refresh() {
    const { open, answered } = await ask("/console/questions");
    if (!open) return;
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
        el("b", {}, open && one.to.owner ? "You are asked" : `${names(one.to)} ${open ? (one.to.names.length > 1 ? "are" : "is") : "had been"} asked`),
        el("span", { className: "where" }, one.place || "in a thread"),
        el("time", { title: full(one.at) }, open ? `for ${since(one.at)}` : when(one.answered_at)),
      ),
      open && one.to.owner && one.to.names.length > 1 && el("p", { className: "note" }, `${names(one.to)} may answer.`),
      el("div", { className: "text" }, markup(one.text || "…")),
      buttons(one, open),
      el("p", { className: "note" }, state(one, open), open && [" ", place(one)]),
      el("button", { type: "button", className: "link", dataset: { key: one.seq }, onclick: () => this.onEntry(one.seq) }, "Show it in the journal"),
    );
  }
}

const names = ({ names }) => names.map(({ name }) => name).join(" or ") || "Somebody";

function buttons({ choices, answer }, open) {
  const state = (choice) => (open ? "open" : choice === answer ? "chosen" : "gone");
  const one = (choice) => el("li", { dataset: { state: state(choice) } }, labelled(choice));
  return choices.length > 0 && el("ul", { className: "buttons", "aria-label": "Its buttons" }, choices.map(one));
}

/** Where its buttons stand, or where it waits: in the local chat, or in Slack. */
function place({ thread, choices, link }) {
  const stands = choices.length ? "They stand beneath the question" : "It is asked";
  if (document.body.dataset.world === "local") return [`${stands} `, el("a", { href: `#${thread}`, dataset: { key: thread } }, "in the chat"), "."];
  return link && [`${stands} `, el("a", { href: link, dataset: { key: thread }, target: "_blank", rel: "noopener noreferrer" }, "in Slack"), "."];
}

const labelled = (choice) => choice.charAt(0).toUpperCase() + choice.slice(1).replaceAll("_", " ");

function state({ choices, words, by, answer }, open) {
  if (open) return choices.length ? "None of its buttons was pressed yet." : words ? "It waits for a message in that thread." : "It goes on when somebody says “go on” there.";
  if (!by) return "Nobody answered in time.";
  return choices.includes(answer) ? `${by} pressed ${labelled(answer)}. The buttons are gone.` : `${by} answered: ${answer}`;
}
