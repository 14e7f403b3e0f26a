// A turn as a card: its parts, its figures, and its entries, which unfold below.

import { el } from "../base/dom.js";
import { line } from "../base/entry_lines.js";
import { clockSeconds, full, seconds, several } from "../base/format.js";
import { oneLine } from "../base/markup.js";
import { shortly } from "../base/names.js";
import { figures, headline, momentView } from "./turn_parts.js";

/** So many moments of a turn are shown; of more, the last ones. */
const SHOWN = 24;
/** So many branches of a turn begin unfolded, where they have not ended. */
const UNFOLDED = 6;

/** Something that happened outside of turns, or that waits for one. */
export class OneView {
  constructor(cards, node) {
    this.node = node;
    this.open = false;
    const { entry } = node;
    this.item = el("li", { role: "treeitem", tabIndex: -1, dataset: { seq: node.seq, thread: node.id } });
    if (node.thread) {
      this.item.className = "turn waiting";
      const state = el("span", { className: "state" }, "not taken up yet");
      this.item.append(el("div", { className: "headline" }, headline(node, cards.one), state), momentView({ part: "heard", entry }));
      return;
    }
    const { weight, word, nodes, tone } = line(entry);
    this.item.className = ["beside", tone].filter(Boolean).join(" ");
    const told = el("p", {}, el("span", {}, word), " ", weight === "step" && nodes, el("time", { title: full(entry.at) }, clockSeconds(entry.at)));
    this.item.append(told, ...(weight === "event" ? nodes.filter(Boolean) : []));
  }

  draw() {}
}

/** A turn: its card, and the list of its entries, which is written when it is unfolded. */
export class TurnView {
  constructor(cards, node) {
    this.cards = cards;
    this.node = node;
    this.open = false;
    this.all = false;
    this.written = 0;
    this.heard = 0;
    this.drawn = new Map();
    this.head = el("div", { className: "headline" });
    this.left = el("button", { type: "button", className: "earlier-moments", tabIndex: -1, hidden: true });
    this.moments = el("div", { className: "moments" });
    this.thought = el("div", { className: "thought" });
    this.live = el(
      "div",
      { className: "moment live", hidden: true },
      el("span", { className: "part-name" }, "thinks"),
      el("div", { className: "what" }, this.thought, el("small", {}, "as it comes; not recorded yet")),
    );
    this.foot = el("p", { className: "figures" });
    this.group = el("ul", { role: "group" });
    this.item = el(
      "li",
      { className: "turn", role: "treeitem", tabIndex: -1, dataset: { seq: node.seq, thread: node.id } },
      el("div", { className: "top-of-branch" }, this.head, this.left, this.moments, this.live, this.foot),
      this.group,
    );
  }

  draw() {
    const { node, cards } = this;
    this.item.setAttribute("aria-expanded", String(this.open));
    this.item.dataset.state = node.state;
    this.head.replaceChildren(...headline(node, cards.one || node.parent).filter(Boolean));
    this.drawMoments();
    this.drawThought();
    const unfold = el("button", { type: "button", className: "unfold", tabIndex: -1 }, several(node.entries.length, "entry").replace("entrys", "entries"));
    this.foot.replaceChildren(...figures(node), unfold);
    this.group.hidden = !this.open;
    if (this.open) this.write();
  }

  /** Those that are drawn already stay what they are, unless something came of them since. */
  drawMoments() {
    const left = this.all ? 0 : Math.max(0, this.node.moments.length - SHOWN);
    const moments = this.node.moments.slice(left);
    this.left.hidden = !left;
    this.left.textContent = `${left} earlier`;
    const views = moments.map((moment, at) => this.drawMoment(moment, moments[at - 1]));
    const same = views.length === this.moments.childElementCount && views.every((view, at) => this.moments.children[at] === view);
    if (!same) this.moments.replaceChildren(...views);
  }

  /** What is thought at this moment; nothing of it stays. */
  drawThought() {
    const thought = this.node.state === "thinking" ? this.cards.thinking.in(this.node.thread.id) : null;
    this.live.hidden = !thought;
    this.thought.textContent = thought ?? "";
  }

  drawMoment(moment, before) {
    const known = this.drawn.get(moment);
    const version = `${Boolean(moment.done)} ${before?.part === moment.part} ${moment.run?.moments.length} ${Boolean(moment.run?.ended)}`;
    if (known?.version === version) return known.view;
    const under = moment.branch ? this.branches(moment.branch) : moment.run ? this.runs(moment.run) : null;
    const view = momentView(moment, before, under);
    this.drawn.set(moment, { version, view });
    return view;
  }

  branches(branch) {
    return el("ul", { role: "group", className: "branches-begun" }, this.cards.view(branch).item);
  }

  /** A run: what it is for, its choices and what came of them. */
  runs(run) {
    const { moments, began, ended } = run;
    return el(
      "div",
      { className: "run" },
      el("p", { className: "sentence" }, "sets out: ", line(began).nodes),
      moments.map((moment, at) => momentView(moment, moments[at - 1])),
      ended && el("p", { className: "sentence" }, line(ended).word, " ", line(ended).nodes),
    );
  }

  showAll() {
    this.all = true;
    this.draw();
  }

  write() {
    const { entries, gone, heard } = this.node;
    if (this.heard !== heard.length) { // what was heard late stands further up
      this.heard = heard.length;
      this.written = 0;
      this.group.replaceChildren();
    }
    for (let at = Math.max(this.written - gone, 0); at < entries.length; at += 1) {
      const view = new EntryView(entries[at]);
      this.cards.keep(view);
      this.group.append(view.item);
    }
    this.written = gone + entries.length;
    while (this.group.childElementCount > entries.length) this.group.firstElementChild.remove();
  }
}

/** A branch: how it stands, and the turns in it. */
export class BranchView {
  constructor(cards, node) {
    this.cards = cards;
    this.node = node;
    this.open = !node.ended && node.number <= UNFOLDED;
    this.head = el("div", { className: "head" });
    this.group = el("ul", { role: "group" });
    this.item = el(
      "li",
      { className: "branch", role: "treeitem", tabIndex: -1, dataset: { seq: node.seq, thread: node.id } },
      el("div", { className: "top-of-branch" }, this.head),
      this.group,
    );
  }

  draw() {
    const { node } = this;
    this.item.setAttribute("aria-expanded", String(this.open));
    this.item.dataset.state = node.state;
    const last = this.open ? "" : String(node.ended?.body.result ?? "");
    this.head.replaceChildren(
      el("b", {}, shortly(node.id)),
      el("span", { className: "last" }, oneLine(last)),
      node.seconds === null ? "" : el("span", { className: "figure" }, seconds(node.seconds)),
      el("span", { className: "state" }, node.state),
    );
    this.group.hidden = !this.open;
    if (this.open) for (const turn of node.turns) this.add(this.cards.view(turn).item);
  }

  add(item) {
    if (item.parentElement !== this.group) this.group.append(item);
  }
}

/** An entry as a line; its words, and what else there is of it, unfold. */
class EntryView {
  constructor(entry) {
    this.entry = entry;
    this.open = false;
    const told = line(entry);
    this.told = told;
    this.unfolds = told.weight === "event" && told.nodes.some(Boolean);
    this.item = el(
      "li",
      {
        className: ["talk", "entry", told.weight, told.tone].filter(Boolean).join(" "),
        role: "treeitem",
        tabIndex: -1,
        dataset: { seq: entry.seq, kind: entry.kind, thread: entry.thread },
        title: full(entry.at),
      },
      el(
        "p",
        { className: "word head-of-entry" },
        el("span", {}, told.word),
        told.weight === "step" && el("span", { className: "rest" }, told.nodes),
        told.opens && el("button", { type: "button", className: "open", tabIndex: -1, dataset: { seq: entry.seq } }, "What the model saw"),
        el("time", {}, clockSeconds(entry.at)),
        el("a", { className: "seq", href: `#${entry.seq}`, tabIndex: -1 }, `#${entry.seq}`),
      ),
    );
    if (this.unfolds) this.item.setAttribute("aria-expanded", "false");
  }

  draw() {
    if (!this.unfolds) return void this.item.classList.toggle("whole", this.open);
    this.body ??= el("div", { className: "body" }, this.told.nodes);
    this.item.setAttribute("aria-expanded", String(this.open));
    if (this.open) this.item.append(this.body);
    else this.body.remove();
  }
}
