// The turns of one or all conversations as cards, in their order; branches are within the turn that began them.

import { atEnd, el, flash, toEnd } from "../base/dom.js";
import { Ends } from "../base/list_ends.js";
import { Walk } from "../base/tree_keys.js";
import { BranchView, OneView, TurnView } from "./card.js";
import { Thinking } from "./live_thought.js";
import { Turns } from "./turns.js";

const NOTHING = "Nothing has happened here yet.";
const OLDER = "Older turns";
const NEWER = "Newer turns";

export class Cards extends Walk {
  /** `onEnd(name)`: one came to the "older" or "newer" end; `onNewest()`: one wants to see what happens now;
      `onNews()`: something new stands at the end, out of sight. */
  constructor({ onEnd, onNewest, onNews, ...openers }) {
    super("turns", openers);
    this.heads = ".head, .headline, .head-of-entry";
    this.onNewest = onNewest;
    this.onNews = onNews;
    this.onChat = openers.onChat;
    this.ends = new Ends(this.list, onEnd);
    this.thinking = new Thinking();
    this.fill([], { one: false });
  }

  /** Show the turns of these entries and no others. `one`: they are of one conversation; `older`, `newer`: there
      was more before, and after; `more`: they are shown already, and there are more entries of them now. */
  fill(entries, { one, older = false, newer = false, more = false }) {
    const place = more ? this.place() : null;
    this.were = new Map(more ? [...this.views.values()].map(({ node, open }) => [nameOf(node), open]) : []);
    this.turns = new Turns();
    this.views = new Map();
    this.due = new Set();
    this.one = one;
    this.live = !newer;
    this.older = older;
    this.ends.forget();
    this.list.replaceChildren();
    for (const entry of entries) this.take(entry);
    if (this.list.hidden) return;
    this.draw();
    if (place) this.backTo(place);
    else toEnd(this.list);
  }

  take(entry) {
    this.thinking.recorded(entry);
    const changed = this.turns.take(entry);
    if (changed.length && !this.due.size) requestAnimationFrame(() => this.flush());
    for (const node of changed) this.due.add(node);
  }

  /** Something is thought at this moment, or is not any more. */
  think(news) {
    const before = this.thinkers();
    this.thinking.take(news);
    if (!this.due.size) requestAnimationFrame(() => this.flush());
    for (const node of [...before, ...this.thinkers()]) this.due.add(node);
  }

  forgetThoughts() {
    const before = this.thinkers();
    this.thinking.forget();
    for (const node of before) this.views.get(node)?.draw();
  }

  /** The turns in which something is, or was, thought at this moment. */
  thinkers() {
    return [...this.thinking.threads].map((id) => this.turns.threads.get(id)?.now).filter(Boolean);
  }

  flush() {
    if (this.list.hidden || !this.due.size) return;
    const stay = atEnd(this.list);
    const news = this.turns.stood - this.drawn;
    this.draw();
    if (stay) toEnd(this.list);
    else if (news > 0) this.onNews(news);
  }

  /** The list as it is by now: what changed, what is new, and what is gone. */
  draw() {
    for (const node of this.due) if (this.views.has(node)) this.views.get(node).draw();
    this.due.clear();
    this.drawn = this.turns.stood;
    const items = this.turns.roots.map((root) => this.view(root).item);
    const kept = new Set(items);
    for (const item of [...this.list.children]) if (!kept.has(item) && !item.matches(".more")) item.remove();
    if (!this.list.querySelector(":scope > .more")) this.drawEnds();
    const end = this.list.querySelector(":scope > [data-end='newer']");
    for (const item of items) if (item.parentElement !== this.list) this.list.insertBefore(item, end);
    if (!items.length) this.list.append(el("li", { className: "empty", role: "none" }, NOTHING));
    this.first();
  }

  drawEnds() {
    if (this.older) this.list.prepend(this.ends.item("older", OLDER, "none"));
    if (!this.live) this.list.append(this.ends.item("newer", NEWER, "none"));
  }

  view(node) {
    const known = this.views.get(node);
    if (known) return known;
    const view = node.entry ? new OneView(this, node) : node.turns ? new BranchView(this, node) : new TurnView(this, node);
    this.views.set(node, view);
    if (view.group) this.keep(view);
    view.open = this.were.get(nameOf(node)) ?? view.open;
    view.draw();
    return view;
  }

  redraw(view) {
    view.draw();
  }

  show(on) {
    this.list.hidden = !on;
    if (!on) return;
    this.draw();
    toEnd(this.list);
  }

  toEnd() {
    toEnd(this.list);
  }

  // Where one is

  /** What is in sight, and what one has turned to: to find both again when the list is made anew. */
  place() {
    const edge = this.list.getBoundingClientRect().top;
    const item = [...this.list.querySelectorAll(":scope > [data-seq]")].find((one) => one.getBoundingClientRect().bottom > edge);
    const current = this.list.querySelector(".current");
    return {
      seq: Number(item?.dataset.seq),
      top: item ? item.getBoundingClientRect().top : 0,
      current: Number(current?.dataset.seq),
      focused: Boolean(current?.contains(document.activeElement)),
    };
  }

  backTo({ seq, top, current, focused }) {
    const item = this.itemWith(seq);
    if (item) this.list.scrollTop += item.getBoundingClientRect().top - top;
    const turned = current && this.itemWith(current);
    if (turned && focused) this.focus(turned, false);
    else if (turned) this.mark(turned);
  }

  /** The card at the top in which this entry stands. */
  itemWith(seq) {
    const root = this.turns.rootWith(seq);
    return root ? this.views.get(root)?.item : null;
  }

  /** Turn to this entry: its card unfolded down to it. Is it here? */
  goTo(seq) {
    this.draw();
    const node = this.turns.bySeq.get(seq);
    const item = this.itemWith(seq);
    if (!item) return false;
    if (!node) return Boolean(this.center(item));
    for (const each of node.lineage().reverse()) if (each === node || each.turns) this.fold(this.view(each).item, true);
    const entry = this.view(node).group.querySelector(`:scope > [data-seq="${seq}"]`);
    if (entry) this.fold(entry, true);
    this.center(entry ?? item);
    return true;
  }

  /** Show the card in which this entry stands, without going there by keyboard. Is it here? */
  point(seq) {
    this.draw();
    const item = this.itemWith(seq);
    if (!item) return false;
    this.mark(item);
    item.scrollIntoView({ block: "center" });
    flash(item);
    return true;
  }

  /** The entry of the message that has this ts; null where it is not here. */
  messageAt(ts) {
    for (const node of this.turns.bySeq.values()) {
      const entry = node.entries.find(({ kind, body }) => body.ts === ts && (kind === "message" || kind === "spoken"));
      if (entry) return entry.seq;
    }
    return this.turns.roots.find(({ entry }) => entry?.body.ts === ts)?.seq ?? null;
  }

  center(item) {
    this.focus(item, false);
    item.scrollIntoView({ block: "center" });
    return item;
  }

  /** With an open call from call to call; else from card to card, and through what is unfolded. */
  move(step, among = "") {
    if (step === Infinity && !this.live) return void this.onNewest();
    return among ? this.moveToCall(step) : super.move(step);
  }

  moveToCall(step) {
    const buttons = [...this.list.querySelectorAll(".moment button.open")];
    const here = buttons.findIndex(({ dataset }) => Number(dataset.seq) === this.called);
    const there = Math.max(0, Math.min(buttons.length - 1, here < 0 ? buttons.length - 1 : here + step));
    const button = buttons[there];
    if (!button || there === here) return null;
    this.called = Number(button.dataset.seq);
    this.focus(button.closest("[role='treeitem']"));
    return this.called;
  }

  press(button, item) {
    if (button.matches(".open")) this.called = Number(button.dataset.seq);
    if (button.matches(".open")) this.onCall(this.called);
    else if (button.matches(".to-reading")) this.onReading(Number(button.dataset.seq));
    else if (button.matches(".to-chat")) this.onChat(button.dataset);
    else if (button.matches(".unfold")) this.fold(item);
    else if (button.matches(".earlier-moments")) this.folds.get(item).showAll();
  }

  /** A card unfolds; an entry opens the call that it is, or else unfolds. */
  enter(item) {
    if (item.matches(".entry[data-kind='model-call']")) this.onCall((this.called = Number(item.dataset.seq)));
    else this.fold(item);
  }
}

/** What a turn or a branch is called when it is made anew. */
const nameOf = ({ turns, id, seq }) => (turns ? id : seq);
