// The tree of thoughts: conversations, their branches, and the soul's thoughts in each, as it grows.

import { atEnd, el, toEnd } from "../base/dom.js";
import { line, quote } from "../base/entry_lines.js";
import { clockSeconds, full } from "../base/format.js";
import { oneLine } from "../base/markup.js";
import { INNER, openedPlace, shortly } from "../base/names.js";
import { planView } from "../base/plan.js";
import { Walk } from "../base/tree_keys.js";
import { thoughtOf, Thoughts } from "./threads_tree.js";

/** So many branches of a conversation begin unfolded. */
const UNFOLDED = 6;
const NOTHING = "Nothing was thought here yet.";
const STATES = { begun: "begins" };

export class Tree extends Walk {
  constructor(openers) {
    super("tree", openers);
    this.fill([], { one: false });
  }

  /** Show these threads and no others; `one`: they are one conversation, which begins unfolded; `older`: there
      was more before; `more`: they are shown already, and there are more entries of them now. */
  fill(entries, { one, older = false, more = false }) {
    const fromEnd = this.list.scrollHeight - this.list.scrollTop;
    this.were = new Map(more ? [...this.views].map(([{ id }, { open }]) => [id, open]) : []);
    this.thoughts = new Thoughts();
    this.views = new Map();
    this.due = new Set();
    this.one = one;
    this.list.replaceChildren(...(older ? [this.further("Older thoughts")] : []), el("li", { className: "empty", role: "none" }, NOTHING));
    for (const entry of entries) this.take(entry);
    this.flush();
    this.list.scrollTop = this.list.scrollHeight - (more ? fromEnd : 0);
  }

  take(entry) {
    const changed = this.thoughts.take(entry);
    if (changed.length && !this.due.size) requestAnimationFrame(() => this.flush());
    for (const node of changed) this.due.add(node);
  }

  flush() {
    if (this.list.hidden) return;
    const stay = atEnd(this.list);
    for (const root of this.thoughts.roots) {
      if (!(root.items.length || root.plan) || this.views.has(root)) continue;
      this.list.querySelector(".empty")?.remove();
      this.list.append(this.view(root).item);
    }
    for (const node of this.due) if (this.views.has(node)) this.refresh(node);
    this.due.clear();
    this.first();
    if (stay) toEnd(this.list);
  }

  show(shown) {
    this.list.hidden = !shown;
    if (!shown) return;
    this.flush();
    toEnd(this.list);
  }

  toEnd() {
    toEnd(this.list);
  }

  // What it looks like

  view(node) {
    if (this.views.has(node)) return this.views.get(node);
    const view = {
      name: el("b", {}, node.parent ? shortly(node.id) : node.id === INNER ? "Inner life" : "Conversation"),
      last: el("span", { className: "last" }),
      state: el("span", { className: "state" }),
      branches: el("p", { className: "branches" }),
      plan: el("div", {}),
      group: el("ul", { role: "group" }),
      written: 0,
    };
    const head = el("div", { className: "head" }, view.name, view.last, view.state);
    const top = el("div", { className: "top-of-branch" }, head, view.plan, view.branches);
    view.item = el(
      "li",
      { className: node.parent ? "branch" : "root", role: "treeitem", tabIndex: -1, dataset: { thread: node.id } },
      top,
      view.group,
    );
    view.node = node;
    view.open = this.were.get(node.id) ?? (node.parent ? node.number <= UNFOLDED : this.one);
    this.views.set(node, this.keep(view));
    this.refresh(node);
    return view;
  }

  redraw(view) {
    this.refresh(view.node);
  }

  refresh(node) {
    const view = this.views.get(node);
    view.item.setAttribute("aria-expanded", String(view.open));
    view.item.dataset.state = node.state;
    if (!node.parent && node.opened?.place) view.name.replaceChildren("Conversation in ", openedPlace(node.opened));
    view.last.replaceChildren(...(view.open ? [] : oneLine(node.last).flat(Infinity)));
    view.state.textContent = worded(node.state);
    if (!node.parent) view.branches.textContent = this.counted(node);
    view.group.hidden = !view.open;
    this.showPlan(view, node);
    if (view.open) this.write(view, node);
  }

  /** The plan changes in place: who has folded it keeps it folded. */
  showPlan(view, node) {
    if (!node.plan || view.shown === node.plan) return;
    view.shown = node.plan;
    const folded = view.plan.firstElementChild?.open === false;
    view.plan.replaceChildren(planView(node.plan, !folded));
  }

  write(view, node) {
    for (let at = Math.max(view.written, node.gone); at < node.gone + node.items.length; at += 1) {
      const { entry, branch, repeats } = node.items[at - node.gone];
      view.group.append(branch ? this.view(branch).item : row(entry, repeats));
    }
    view.written = node.gone + node.items.length;
    while (view.group.childElementCount > node.items.length) view.group.firstElementChild.remove();
  }

  /** How the branches of a conversation stand: `2 branches: 1 completed, 1 thinking`. */
  counted(root) {
    const counts = this.thoughts.count(root).map(([state, count]) => `${count} ${worded(state)}`);
    return root.begun ? `${root.begun} ${root.begun === 1 ? "branch" : "branches"}: ${counts.join(", ")}` : "";
  }
}

const worded = (state) => STATES[state] ?? state;

/** One thing that was said or thought. */
function row(entry, repeats) {
  const isCall = entry.kind === "model-call";
  const { weight, word, nodes, tone, reads } = isCall ? thinks(entry.body) : line(entry);
  return el(
    "li",
    {
      className: ["talk", weight, tone, repeats && "repeats"].filter(Boolean).join(" "),
      role: "treeitem",
      tabIndex: -1,
      dataset: { seq: entry.seq, kind: entry.kind },
      title: `#${entry.seq}, ${full(entry.at)}`,
    },
    el(
      "p",
      { className: "word" },
      el("span", {}, word),
      weight === "step" && el("span", { className: "rest" }, nodes),
      isCall && el("button", { type: "button", className: "open", tabIndex: -1 }, "What the model saw"),
      reads && el("button", { type: "button", className: "to-reading", tabIndex: -1 }, "How it reads"),
      el("time", {}, clockSeconds(entry.at)),
    ),
    weight === "event" && nodes,
  );
}

const thinks = (body) => ({ weight: "event", word: "thinks", nodes: [quote("thought", thoughtOf(body))] });
