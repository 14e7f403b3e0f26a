// The tree of thoughts: conversations, under them their branches, in each the soul's talk with itself, as it grows.

import { atEnd, byId, el, toEnd } from "./dom.js";
import { clockSeconds, full } from "./format.js";
import { line, quote } from "./lines.js";
import { shortly } from "./names.js";
import { planView } from "./plan.js";
import { Thoughts, thoughtOf } from "./thoughts.js";

/** So many branches of a conversation begin unfolded. */
const UNFOLDED = 6;
const NOTHING = "Nothing was thought here yet.";
const STATES = { begun: "begins" };

export class Tree {
  /** `onCall(seq)` is asked to open a model call. */
  constructor({ onCall }) {
    this.onCall = onCall;
    this.list = byId("tree");
    this.list.addEventListener("click", (event) => this.onClick(event));
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.fill([], false);
  }

  /** Show these threads and no others; `whole`: they are one conversation, which begins unfolded. */
  fill(entries, whole) {
    this.thoughts = new Thoughts();
    this.views = new Map();
    this.due = new Set();
    this.whole = whole;
    this.list.replaceChildren(el("li", { className: "empty", role: "none" }, NOTHING));
    for (const entry of entries) this.take(entry);
    this.flush();
    toEnd(this.list);
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
      name: el("b", {}, node.parent ? shortly(node.id) : "Conversation"),
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
    view.open = node.parent ? node.number <= UNFOLDED : this.whole;
    this.views.set(node, view);
    this.refresh(node);
    return view;
  }

  refresh(node) {
    const view = this.views.get(node);
    view.item.setAttribute("aria-expanded", String(view.open));
    view.item.dataset.state = node.state;
    if (!node.parent && node.place) view.name.textContent = `Conversation in ${node.place.replace(/^in /, "")}`;
    view.last.textContent = view.open ? "" : node.last;
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

  // How one moves in it

  onClick(event) {
    const item = event.target.closest("[role='treeitem']");
    if (!item) return;
    this.focus(item);
    if (event.target.closest("button.open")) this.onCall(Number(item.dataset.seq));
    else if (event.target.closest(".head")) this.fold(item);
  }

  onKey(event) {
    const item = event.target;
    const does = item.matches("[role='treeitem']") && KEYS[event.key];
    if (!does) return;
    event.preventDefault();
    does(this, item);
  }

  /** Open or close a branch. */
  fold(item, open) {
    const view = [...this.views.values()].find((one) => one.item === item);
    if (!view || view.open === open) return;
    view.open = !view.open;
    this.refresh(view.node);
  }

  /** Into a branch: opened first, then to what stands first in it. */
  into(item) {
    if (item.getAttribute("aria-expanded") === "false") this.fold(item, true);
    else this.focus(item.querySelector("[role='treeitem']") ?? item);
  }

  /** Out of it: closed first, then to the one above. */
  outOf(item) {
    if (item.getAttribute("aria-expanded") === "true") this.fold(item, false);
    else this.focus(item.parentElement.closest("[role='treeitem']") ?? item);
  }

  enter(item) {
    if (item.querySelector(":scope > .word > button.open")) this.onCall(Number(item.dataset.seq));
    else this.fold(item);
  }

  /** So many items down (or up: below zero) from where one is; returns its seq. */
  move(step, among = "") {
    const seen = (item) => !item.parentElement.closest("[hidden]");
    const wanted = among ? `.talk${among}` : "[role='treeitem']";
    const items = [...this.list.querySelectorAll(`${wanted}, .current`)].filter(seen);
    const here = items.findIndex((item) => item.classList.contains("current"));
    const there = here < 0 && Number.isFinite(step) ? Infinity : here + step;
    const next = items[Math.max(0, Math.min(items.length - 1, there))];
    if (!next || next === items[here]) return null;
    this.focus(next);
    return Number(next.dataset.seq) || null;
  }

  focus(item) {
    this.list.querySelector(".current")?.classList.remove("current");
    for (const other of this.list.querySelectorAll("[role='treeitem'][tabindex='0']")) other.tabIndex = -1;
    item.classList.add("current");
    item.tabIndex = 0;
    item.focus({ preventScroll: true });
    (item.querySelector(":scope > .top-of-branch") ?? item).scrollIntoView({ block: "nearest" });
  }

  /** One of them is always in reach of the Tab key. */
  first() {
    if (this.list.querySelector("[role='treeitem'][tabindex='0']")) return;
    const item = this.list.querySelector("[role='treeitem']");
    if (item) item.tabIndex = 0;
  }

  refocus() {
    this.list.querySelector(".current")?.focus();
  }
}

const KEYS = {
  ArrowDown: (tree) => tree.move(1),
  ArrowUp: (tree) => tree.move(-1),
  PageDown: (tree) => tree.move(10),
  PageUp: (tree) => tree.move(-10),
  Home: (tree) => tree.move(-Infinity),
  End: (tree) => tree.move(Infinity),
  ArrowRight: (tree, item) => tree.into(item),
  ArrowLeft: (tree, item) => tree.outOf(item),
  Enter: (tree, item) => tree.enter(item),
  " ": (tree, item) => tree.enter(item),
};

const worded = (state) => STATES[state] ?? state;

/** One thing that was said or thought. */
function row(entry, repeats) {
  const isCall = entry.kind === "model-call";
  const { weight, word, nodes, tone } = isCall ? thinks(entry.body) : line(entry);
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
      el("time", {}, clockSeconds(entry.at)),
    ),
    weight === "event" && nodes,
  );
}

const thinks = (body) => ({ weight: "event", word: "thinks", nodes: [quote("thought", thoughtOf(body))] });
