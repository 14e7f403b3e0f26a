// The readings of a conversation, the newest first, each as a tree that grows.

import { el } from "../base/dom.js";
import { Walk } from "../base/tree_keys.js";
import { CellView, ReadingView } from "./reading.js";
import { pathOf, pathsTo, Readings } from "./readings_tree.js";

const NOTHING = "Nothing long was read here yet.";

export class Shelf extends Walk {
  constructor(openers) {
    super("readings", openers);
    this.onWhole = openers.onWhole;
    this.rests = new WeakMap();
    this.fill([], { one: false });
  }

  /** Show these readings and no others. `one`: they are of one conversation; `older`: there was more before;
      `more`: they are shown already, and there are more entries of them now. */
  fill(entries, { one, older = false, more = false }) {
    const top = this.list.scrollTop;
    this.were = new Map(more ? [...this.views].map(([node, { open }]) => [idOf(node), open]) : []);
    this.readings = new Readings();
    this.views = new Map();
    this.due = new Set();
    this.one = one;
    this.older = older;
    this.whole = one && !older;
    if (!more) this.forget();
    this.list.replaceChildren(el("li", { className: "empty", role: "none" }, NOTHING), ...(older ? [this.further("Older readings")] : []));
    for (const entry of merged(this.brought, entries)) this.take(entry);
    this.flush();
    this.list.scrollTop = more ? top : 0;
  }

  /** Show these entries, too: all that was recorded of some readings. */
  bring(entries, shown) {
    this.brought = merged(this.brought, entries);
    this.fill(shown, { one: this.one, older: this.older, more: true });
  }

  /** What was brought is of another conversation. */
  forget() {
    this.brought = [];
    this.asked = new Set();
  }

  take(entry) {
    const changed = this.readings.take(entry);
    if (changed.length && !this.due.size) requestAnimationFrame(() => this.flush());
    for (const node of changed) this.due.add(node);
  }

  flush() {
    if (this.list.hidden) return;
    const watched = this.watched();
    const { roots } = this.readings;
    for (const root of roots.filter((one) => !this.views.has(one))) {
      this.list.querySelector(".empty")?.remove();
      const view = this.view(root);
      this.list.prepend(view.item);
      if (root === roots.at(-1) && (root.began || this.whole)) this.fold(view.item, true);
    }
    for (const node of this.due) this.views.get(node)?.draw();
    this.due.clear();
    this.first();
    if (watched) this.list.scrollTop += Math.max(0, below(watched, this.list));
  }

  /** The reading that grows, if its end is in sight: there it stays. */
  watched() {
    const item = this.list.querySelector(":scope > .root[data-state='reading'][aria-expanded='true']");
    return item && Math.abs(below(item, this.list)) < this.list.clientHeight && below(item, this.list) < 80 ? item : null;
  }

  show(shown) {
    this.list.hidden = !shown;
    if (!shown) return;
    this.flush();
    this.toEnd();
  }

  /** The newest one in sight; of one that still grows, its end. */
  toEnd() {
    const newest = this.list.firstElementChild;
    this.list.scrollTop = 0;
    if (newest.dataset.state === "reading") this.list.scrollTop = Math.max(0, below(newest, this.list));
  }

  view(node) {
    const known = this.views.get(node);
    if (known) return known;
    const view = node.path ? new ReadingView(this, node) : new CellView(this, node);
    this.views.set(node, view);
    const open = this.were.get(idOf(node));
    if (open !== undefined) this.fold(view.item, open);
    return view;
  }

  redraw(view) {
    const { root, began, thread, path } = view.node;
    if (root === view.node && !began && !this.whole && !this.asked.has(path)) {
      this.asked.add(path);
      this.onWhole({ thread, key: `${path}/` });
    }
    view.draw();
  }

  press(button, item) {
    if (button.matches(".further")) this.onOlder();
    else if (button.matches(".unfold")) this.folds.get(item).unfold();
    else if (button.matches(".rest-of-it")) this.rests.get(button).further();
    else super.press(button, item);
  }

  /** Turn to the reading of this entry: unfolded, with all around it. */
  goTo(entry) {
    this.flush();
    const found = pathsTo(entry).map((path) => this.readings.byPath.get(path)).filter(Boolean);
    const views = found.flatMap((node) => [node.parent, node]).filter(Boolean).map((node) => this.view(node));
    for (const view of views) {
      if (view.node.parent) this.view(view.node.parent).reach(view.node);
      this.fold(view.item, true);
    }
    if (views.length) this.focus(views.at(-1).item);
  }
}

/** Both, in their order, each entry once. */
function merged(some, others) {
  const known = new Set(some.map(({ seq }) => seq));
  return [...some, ...others.filter(({ seq }) => !known.has(seq))].sort((one, other) => one.seq - other.seq);
}

/** What a reading or a cell is called when it is made anew. */
const idOf = ({ path, reading, number }) => path ?? `${reading.path}#${number}`;

/** How far the end of this item stands below the lower edge of the list. */
const below = (item, list) => item.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
