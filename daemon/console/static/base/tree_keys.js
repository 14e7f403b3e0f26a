// Movement in a tree by mouse and keys. Its items have role=treeitem, and some can be folded.

import { byId, el, goOnAt } from "./dom.js";

export class Walk {
  /**
   * The tree is the list with this id. `onCall(seq)` is asked to open a model call, `onReading(seq)` a reading,
   * `onOlder()` for what was before.
   * Who extends this keeps a view {item, open} of what can be folded, and says in `redraw(view)` how it looks.
   */
  constructor(id, { onCall, onReading, onOlder }) {
    this.onCall = onCall;
    this.onReading = onReading;
    this.onOlder = onOlder;
    this.folds = new WeakMap();
    this.heads = ".head";
    this.list = byId(id);
    this.list.addEventListener("click", (event) => this.onClick(event));
    this.list.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** A line at the end of what is known: there was more before. */
  further(words) {
    const button = el("button", { type: "button", className: "rest-of-it further", tabIndex: -1 }, words);
    return el("li", { className: "talk more", role: "treeitem", tabIndex: -1 }, el("p", { className: "word" }, button));
  }

  /** What can be folded from now on. */
  keep(view) {
    this.folds.set(view.item, view);
    return view;
  }

  onClick(event) {
    const item = event.target.closest("[role='treeitem']");
    if (!item) return;
    const button = event.target.closest("button");
    this.focus(item, false);
    if (button) this.press(button, item);
    else if (event.target.closest(this.heads) && !event.target.closest("a")) {
      this.fold(item);
      reveal(item);
    }
  }

  /** What the buttons of an item do. */
  press(button, item) {
    if (button.matches(".open")) this.onCall(Number(item.dataset.seq));
    else if (button.matches(".to-reading")) this.onReading(Number(item.dataset.seq));
    else if (button.matches(".further")) this.onOlder();
  }

  onKey(event) {
    const item = event.target;
    const does = item.matches("[role='treeitem']") && KEYS[event.key];
    if (!does) return;
    event.preventDefault();
    does(this, item);
  }

  /** Open or close it. */
  fold(item, open) {
    const view = this.folds.get(item);
    if (!view || view.open === open) return;
    view.open = !view.open;
    this.redraw(view);
  }

  /** Into an item: opened first, then to what stands first in it. */
  into(item) {
    if (item.getAttribute("aria-expanded") === "false") this.fold(item, true);
    else this.focus(item.querySelector("[role='treeitem']") ?? item);
  }

  /** Out of it: closed first, then to the one above. */
  outOf(item) {
    if (item.getAttribute("aria-expanded") === "true") this.fold(item, false);
    else this.focus(item.parentElement.closest("[role='treeitem']") ?? item);
  }

  /** Its button, where it has one of its own, is pressed; else it is folded. */
  enter(item) {
    const its = [...item.querySelectorAll(":scope > :not([role='group']) button")];
    const button = its.find((one) => one.checkVisibility());
    if (button) this.press(button, item);
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

  focus(item, inSight = true) {
    this.mark(item);
    goOnAt(item);
    if (inSight) reveal(item);
  }

  /** This one is where one is. */
  mark(item) {
    this.list.querySelector(".current")?.classList.remove("current");
    for (const other of this.list.querySelectorAll("[role='treeitem'][tabindex='0']")) other.tabIndex = -1;
    item.classList.add("current");
    item.tabIndex = 0;
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

function reveal(item) {
  (item.querySelector(":scope > .top-of-branch") ?? item).scrollIntoView({ block: "nearest" });
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
