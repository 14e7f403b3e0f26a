// One tick on the page: a line, which unfolds to its contexts, its answer, and the results of its commands.

import { el } from "../base/dom.js";
import { FORGOTTEN, quote } from "../base/entry_lines.js";
import { full, price, several, whenExactly } from "../base/format.js";
import { commandAbout, commandWords, CONTEXTS, reflexWords, thoughtIn, tickWord } from "../base/inner_words.js";
import { trouble } from "../base/outcomes.js";
import { ask } from "../base/request.js";

const CONTEXT = /<context n="(\d)" name="[a-z_]+">\n([\s\S]*?)\n<\/context>/g;
/** What stands in a context that is empty. */
const EMPTY = "none";

/** A view {item, open}: what it holds is made when it is unfolded. */
class Fold {
  constructor(book, className, seq) {
    this.book = book;
    this.open = false;
    this.name = el("b", {});
    this.note = el("span", { className: "last" });
    this.state = el("span", { className: "state" });
    this.head = el("div", { className: "head" }, this.name, this.note, this.state);
    this.top = el("div", { className: "top-of-branch" }, this.head);
    this.group = el("ul", { role: "group" });
    this.item = el("li", { className, role: "treeitem", tabIndex: -1, dataset: { seq } }, this.top, this.group);
    book.keep(this);
  }

  draw() {
    this.item.setAttribute("aria-expanded", String(this.open));
    this.group.hidden = !this.open;
    if (this.open && !this.written) {
      this.written = true;
      this.write();
    }
  }
}

export class TickView extends Fold {
  constructor(book, tick) {
    super(book, "tick", tick.seq);
    this.tick = tick;
    const answer = tick.calls.find(({ seq }) => seq === tick.answer);
    this.call = answer ?? tick.calls.findLast(({ name }) => name === "tick");
    this.item.dataset.outcome = tick.outcome;
    this.name.textContent = tick.forgotten ? FORGOTTEN : thoughtIn(answer?.text).split("\n")[0] || this.why();
    this.state.textContent = tick.forgotten ? "" : tickWord(tick.outcome);
    const time = el("time", { title: full(tick.at) }, whenExactly(tick.at));
    this.top.append(el("p", { className: "figures" }, el("span", {}, this.figures()), time));
    this.draw();
  }

  why() {
    const { why } = this.tick;
    return why ? `${why[0].toUpperCase()}${why.slice(1)}` : "A tick";
  }

  figures() {
    const { tick } = this;
    const { outcome, commands, calls, novelty, reflex, view, place } = tick;
    if (outcome === "asleep") return "without a thought";
    const spent = calls.reduce((sum, call) => ({ cost: sum.cost + call.cost, worth: sum.worth + call.worth }), { cost: 0, worth: 0 });
    return [
      tick.answer && tick.why,
      view ? `sees ${place || "one conversation"}` : "sees public things only",
      ["thought", "repeated"].includes(outcome) && `${Math.round(novelty * 100)} % new`,
      reflex && reflexWords(reflex),
      commands.length > 0 && several(commands.length, "command"),
      price(spent),
    ].filter(Boolean).join(" · ");
  }

  write() {
    const { tick, call } = this;
    const failure = call && trouble(call);
    this.group.append(
      ...[
        call && new ShownView(this.book, call.seq).item,
        call && answerRow(call, failure),
        ...tick.commands.map(commandRow),
        tick.reflex && row("reflex", `goes in circles: ${reflexWords(tick.reflex)}`, [quote("heard", tick.advice)]),
        !call && row("asleep", "nothing was asked, and nothing spent", []),
      ].filter(Boolean),
    );
  }
}

/** The seven contexts as they were sent: fetched when somebody wants to see them. */
class ShownView extends Fold {
  constructor(book, seq) {
    super(book, "shown", seq);
    this.seq = seq;
    this.name.textContent = "What it was shown";
    this.draw();
  }

  async write() {
    const { request, agrees } = await ask(`/console/calls/${this.seq}`);
    const said = JSON.stringify(request.messages) && textOf(request.messages);
    const found = [...said.matchAll(CONTEXT)].sort(([, one], [, other]) => one - other);
    if (!agrees) this.note.textContent = "not quite as it was: the recorded hash is another one";
    this.group.append(...found.map(([, number, text]) => new ContextView(this.book, number, text).item));
  }
}

class ContextView extends Fold {
  constructor(book, number, text) {
    super(book, "context", "");
    this.item.removeAttribute("data-seq");
    this.text = text;
    this.name.textContent = `${number}. ${CONTEXTS[number] ?? "Context"}`;
    this.state.textContent = text === EMPTY ? "nothing" : "";
    this.draw();
  }

  write() {
    this.group.append(el("li", { role: "none" }, el("pre", { tabIndex: -1 }, this.text)));
  }
}

/** "… older ones": a line below the ticks. `seen`: some of them were asked for. */
export class OlderTicks {
  constructor() {
    this.seen = false;
    this.button = el("button", { type: "button", className: "rest-of-it older", tabIndex: -1 });
    this.item = el("li", { className: "talk more", role: "treeitem", tabIndex: -1 }, el("p", { className: "word" }, this.button));
  }

  show(count) {
    this.button.textContent = `${several(count, "older one")}`;
  }
}

function textOf(messages) {
  const texts = ({ content }) => (typeof content === "string" ? [content] : content.map(({ text }) => text ?? ""));
  return messages.flatMap(texts).join("\n");
}

function row(className, word, nodes, seq) {
  return el(
    "li",
    { className: `talk event ${className}`, role: "treeitem", tabIndex: -1, dataset: seq ? { seq } : {} },
    el("p", { className: "word" }, el("span", {}, word)),
    nodes,
  );
}

function answerRow(call, failure) {
  const item = row("answer-of-tick", call.text ? "thinks" : "has no answer", [
    failure && el("p", { className: "outcome" }, failure),
    thoughtIn(call.text) && quote("thought", thoughtIn(call.text)),
  ], call.seq);
  item.dataset.kind = "model-call";
  item.querySelector(".word").append(el("button", { type: "button", className: "open", tabIndex: -1 }, "What the model saw"));
  return item;
}

/** A command and what came of it. */
function commandRow({ name, args, description, ok, text }) {
  const about = commandAbout(name, args);
  const item = row(ok ? "did" : "did not-done", commandWords(name), [
    about && el("div", { className: "heard brief" }, about),
    description && el("p", { className: "what-for" }, `to ${description}`.replace(/^to to /, "to ")),
    text && el("p", { className: "came-of-it" }, text),
  ]);
  item.title = name;
  return item;
}
