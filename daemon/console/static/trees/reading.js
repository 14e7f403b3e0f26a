// One reading on the page, as it grows: its rounds and cells, each cell with its calls and their results.

import { el } from "../base/dom.js";
import { FORGOTTEN, quote } from "../base/entry_lines.js";
import { count, full, price, several, whenExactly } from "../base/format.js";
import { readingEnd, trouble } from "../base/outcomes.js";
import { coreWords } from "../base/sections.js";

/** So many readings below one begin unfolded. */
const UNFOLDED = 3;
/** So many sub-calls, or readings, are shown at once of what a cell asked for. */
const AT_ONCE = 50;
const LINES = 16;
const LETTERS = 900;
const HEAD = 400;
/** What an answer of the model holds beside its free words: its cells. */
const CELL = /^ {0,3}(`{3,}) *(?:repl|python3?|py) *$[\s\S]*?(?:^ {0,3}\1`* *$|(?![\s\S]))/gim;
/** The variables that a reading begins with. */
const GIVEN = { context: "", answer: "" };
/** What stands there when nothing was printed. */
const NOTHING = "(no output)";
const VARIABLES = /\n?\[variables: [^\n]*\]$/;

/** A view {item, open, node}: what it holds is made when it is unfolded. `draw()` shows what is new. */
class Fold {
  constructor(book, node, className) {
    this.book = book;
    this.node = node;
    this.name = el("b", {});
    this.note = el("span", { className: "last" });
    this.state = el("span", { className: "state" });
    this.group = el("ul", { role: "group" });
    this.top = el("div", { className: "top-of-branch" }, el("div", { className: "head" }, this.name, this.note, this.state));
    this.item = el("li", { className, role: "treeitem", tabIndex: -1, dataset: { seq: node.seq } }, this.top, this.group);
    this.written = 0;
    this.open = false;
    book.keep(this);
  }

  draw() {
    this.item.setAttribute("aria-expanded", String(this.open));
    this.group.hidden = !this.open;
    this.look();
    if (this.open) this.write();
  }

  show(state) {
    this.item.dataset.state = state;
    this.state.textContent = state === "final" ? "final answer" : state;
  }
}

export class ReadingView extends Fold {
  constructor(book, reading) {
    super(book, reading, reading.parent ? "reading below" : "reading root");
    this.open = Boolean(reading.parent) && reading.number <= UNFOLDED;
    this.figures = el("p", { className: "figures" });
    this.top.append(this.figures);
    this.draw();
  }

  look() {
    const { began, forgotten, at, state } = this.node;
    this.name.textContent = forgotten ? FORGOTTEN : (began?.question ?? "Its beginning is not in sight.");
    this.name.title = began?.question ?? "";
    this.show(state);
    const time = el("time", { title: full(at) }, whenExactly(at));
    this.figures.replaceChildren(el("span", {}, figures(this.node)), this.node.parent ? "" : time);
  }

  write() {
    const { began, ended, items } = this.node;
    if (began && !this.told) this.group.prepend((this.told = shape(began)));
    for (; this.written < items.length; this.written += 1) this.group.append(this.row(items[this.written]));
    if (ended && !this.end) this.group.append((this.end = end(this.node)));
  }

  row({ call, cell, told }) {
    if (cell) return this.book.view(cell).item;
    return told ? row(told, "is told", [], coreWords(told.body.text)) : round(call);
  }
}

export class CellView extends Fold {
  constructor(book, cell) {
    super(book, cell, "cell");
    this.open = true;
    this.code = new Text("code");
    this.output = new Text("output");
    this.variables = el("p", { className: "variables" });
    this.came = el("div", { className: "came" }, this.output.node, this.variables);
    this.top.append(this.code.node);
    this.item.append(this.came);
    this.name.textContent = `Cell ${cell.number}`;
    this.draw();
  }

  look() {
    const { code, ran, state } = this.node;
    this.show(state);
    this.note.textContent = this.open ? "" : (code ?? "").trim().split("\n")[0];
    this.code.show(code, this.open);
    this.output.show(ran && outputOf(ran), this.open);
    this.variables.textContent = ran ? this.news() : "";
    this.came.hidden = !this.open || !ran;
  }

  write() {
    const { asked, called } = this.node;
    if (asked.length && !this.asked) this.group.prepend((this.asked = new AskedView(this.book, this.node)).item);
    this.asked?.draw();
    this.below ??= new Capped(this.book, this.group, (reading) => this.book.view(reading).item, "readings");
    this.below.show(called);
  }

  /** Shows so much of it that this reading is there. */
  reach(reading) {
    this.below.most = Math.max(this.below.most, this.node.called.indexOf(reading) + 1);
    this.write();
  }

  /** The variables that no cell before it had. */
  news() {
    const { number, ran, reading } = this.node;
    const before = reading.cells.get(number - 1)?.ran?.variables ?? GIVEN;
    const fresh = Object.entries(ran.variables).filter(([name]) => !(name in before));
    return fresh.map(([name, type]) => `${name}: ${type}`).join(", ");
  }

  /** All of a long code or output, or only how it begins. */
  unfold() {
    const whole = !(this.code.whole || this.output.whole);
    for (const text of [this.code, this.output]) text.unfold(whole);
  }
}

/** What a cell asked other models, folded into one line. */
class AskedView extends Fold {
  constructor(book, cell) {
    super(book, cell, "asked");
    this.calls = new Capped(book, this.group, asked, "sub-calls");
    this.item.removeAttribute("data-seq");
    this.draw();
  }

  look() {
    const { asked, asking, failed, ran } = this.node;
    this.name.textContent = [several(asked.length, "sub-call"), price(asking)].join(" · ");
    this.note.textContent = [failed && `${count(failed)} without an answer`, !ran && "so far"].filter(Boolean).join(", ");
    this.item.classList.toggle("trouble", failed > 0);
  }

  write() {
    this.calls.show(this.node.asked);
  }
}

/** A list that grows: the first of it, and below them a line that shows more. `make(one)` gives an item. */
class Capped {
  constructor(book, group, make, what) {
    Object.assign(this, { group, make, what, shown: 0, most: AT_ONCE, list: [] });
    this.rest = el("button", { type: "button", className: "rest-of-it", tabIndex: -1 });
    book.rests.set(this.rest, this);
    this.line = el("li", { className: "talk more", role: "treeitem", tabIndex: -1 }, el("p", { className: "word" }, this.rest));
  }

  show(list) {
    this.list = list;
    const fresh = list.slice(this.shown, this.most).map(this.make);
    this.shown += fresh.length;
    const more = list.length - this.shown;
    this.rest.textContent = `${count(more)} more ${this.what}`;
    if (this.line.isConnected) this.line.before(...fresh);
    else this.group.append(...fresh, ...(more ? [this.line] : []));
    if (!more) this.line.remove();
  }

  /** The next ones; who stood on the line stands on the first of them. */
  further() {
    const before = this.line.previousElementSibling;
    this.most += 2 * AT_ONCE;
    this.show(this.list);
    before.nextElementSibling.focus();
  }
}

/** Code or output: one that is long is cut, with a way to the rest. */
class Text {
  constructor(className) {
    this.whole = false;
    this.pre = el("pre", {});
    this.more = el("button", { type: "button", className: "unfold", tabIndex: -1 });
    this.node = el("div", { className: `text-of-cell ${className}` }, this.pre, this.more);
  }

  /** Nothing, where there is none yet. */
  show(text, shown) {
    this.node.hidden = !shown || !text;
    this.node.classList.toggle("nothing", text === NOTHING);
    if (!text || this.text === text) return;
    this.text = text;
    this.pre.textContent = text;
    this.long = text.length > LETTERS || text.split("\n").length > LINES;
    this.unfold(this.whole);
  }

  unfold(whole) {
    this.whole = whole && this.long;
    this.more.hidden = !this.long;
    this.more.textContent = whole ? "Show less" : `Show all ${count(this.text?.length)} characters`;
    this.node.classList.toggle("cut", Boolean(this.long) && !whole);
  }
}

/** `1 round · 3 calls · $0.0021`, and what stood in its way. */
function figures({ ended, rounds, spent, depth, state }) {
  return [
    ended && readingEnd(ended).why,
    several(ended?.iterations ?? rounds, "round"),
    several(spent.calls, "call"),
    price(spent) + (state === "reading" ? " so far" : ""),
    depth > 0 && `depth ${depth}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** All that the model is told of the context beforehand; of that, the first line. */
function shape({ shape: text }) {
  const first = text.split("\n")[0].replace(/^`context` is /, "").replace(/[.:]$/, "");
  return el(
    "li",
    { className: "talk step shape", role: "treeitem", tabIndex: -1, title: text },
    el("p", { className: "word" }, el("span", {}, "is to read"), el("span", { className: "rest" }, first)),
  );
}

const WORDS = { read: () => "reads it in one call", extract: () => "is asked for what it knows by now" };

/** An answer of the model, without its cells: they follow. */
function round(call) {
  const { name, text } = call.body;
  const why = trouble(call.body);
  const words = name === "recurse" ? (text ?? "").replace(CELL, "").trim() : "";
  const word = WORDS[name]?.() ?? `Round ${numberOf(call)}`;
  return row(call, word, [why && el("p", { className: "outcome" }, why), words && quote("thought", words)]);
}

const numberOf = ({ key }) => key.split("#").at(-1);

/** One prompt of a cell, and its answer. */
function asked(call) {
  const { trailing, text } = call.body;
  const why = trouble(call.body);
  const answer = text && el("p", { className: "its-answer" }, text.slice(0, HEAD));
  return row(call, trailing.slice(0, HEAD), [why && el("p", { className: "outcome" }, why), answer], "", "prompt");
}

/** What it came to. */
function end({ ended, end }) {
  const { why } = readingEnd(ended);
  const word = ended.answer ? (why ? `stops, ${why}, and says what it knows` : "answers") : `ends without an answer: ${why}`;
  return row(end, word, [ended.answer && quote("speech", ended.answer)]);
}

function row(entry, word, nodes, rest = "", className = "") {
  const isCall = entry.kind === "model-call";
  return el(
    "li",
    {
      className: ["talk", rest ? "step" : "event", className].filter(Boolean).join(" "),
      role: "treeitem",
      tabIndex: -1,
      dataset: { seq: entry.seq, kind: entry.kind },
      title: `#${entry.seq}, ${full(entry.at)}`,
    },
    el(
      "p",
      { className: "word" },
      el("span", {}, word),
      rest && el("span", { className: "rest" }, rest),
      isCall && el("button", { type: "button", className: "open", tabIndex: -1 }, "What the model saw"),
    ),
    nodes,
  );
}

/** What the model was shown, but for the names of its variables, which stand below. */
const outputOf = ({ text }) => text.replace(VARIABLES, "");
