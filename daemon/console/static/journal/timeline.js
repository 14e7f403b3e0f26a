// The journal as a timeline: a row for each entry. It loads more near both ends.

import { atEnd, byId, el, goOnAt, toEnd } from "../base/dom.js";
import { line } from "../base/entry_lines.js";
import { clockSeconds, full } from "../base/format.js";
import { Ends } from "../base/list_ends.js";
import { named } from "../base/names.js";

const PAGE = 10;
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, End: Infinity, Home: -Infinity };
const WORDS = { older: "Older entries", newer: "Newer entries" };

export class Timeline {
  /** `onPress(button, row)`: a button of a row; `onEnd(name)`: one came to the "older" or "newer" end;
      `onNewest()`: one wants to see what happens now; `onNews(count)`: so many new ones stand out of sight. */
  constructor({ onPress, onEnd, onNewest, onNews }) {
    this.onPress = onPress;
    this.onNewest = onNewest;
    this.onNews = onNews;
    this.list = byId("entries");
    this.feed = null;
    this.fresh = [];
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("click", (event) => this.choose(event.target.closest("#entries > li"), event));
    this.ends = new Ends(this.list, onEnd);
  }

  /** Show what this feed holds, from its end; `nothing` is said where that is nothing. */
  show(feed, nothing) {
    this.feed = feed;
    this.nothing = nothing;
    this.render();
    toEnd(this.list);
  }

  /** It holds something else now: what is in sight stays where it is. */
  refresh() {
    const top = this.list.getBoundingClientRect().top;
    const rows = [...this.list.querySelectorAll(":scope > [data-seq]")];
    const seen = rows.find((row) => row.getBoundingClientRect().bottom > top);
    const at = seen && seen.getBoundingClientRect().top;
    const current = this.list.querySelector(".current");
    const focused = current?.contains(document.activeElement);
    this.render();
    if (current) this.mark(this.rowOf(Number(current.dataset.seq)), focused);
    const same = seen && this.rowOf(Number(seen.dataset.seq));
    if (same) this.list.scrollTop += same.getBoundingClientRect().top - at;
  }

  /** Turn to this entry. */
  goTo(seq) {
    const row = this.rowOf(seq);
    if (!row) return;
    this.mark(row, true);
    row.scrollIntoView({ block: "center" });
  }

  /** The row in which it stands: several texts share one. */
  rowOf(seq) {
    return [...this.list.querySelectorAll(":scope > [data-seq]")].findLast((row) => Number(row.dataset.seq) <= seq) ?? null;
  }

  /** Rows are added once a frame: a page that opens gets hundreds of entries at once. */
  add(entry) {
    if (this.fresh.push(entry) === 1) requestAnimationFrame(() => this.flush());
  }

  flush() {
    if (!this.fresh.length) return;
    const stay = atEnd(this.list);
    this.list.querySelector(".empty")?.remove();
    this.append(this.fresh);
    if (!stay) this.onNews(this.fresh.length);
    this.fresh = [];
    const [first] = this.feed.entries;
    const gone = [...this.list.querySelectorAll(":scope > [data-seq]")].filter(({ dataset }) => Number(dataset.seq) < first.seq);
    for (const row of gone.slice(0, -1)) row.remove();
    if (this.feed.older !== null && !this.list.querySelector(":scope > .more")) this.list.prepend(this.ends.item("older", WORDS.older));
    if (stay) toEnd(this.list);
  }

  render() {
    const { entries, older, newer } = this.feed;
    this.fresh = [];
    this.last = null;
    this.ends.forget();
    this.list.replaceChildren();
    if (older !== null) this.list.append(this.ends.item("older", WORDS.older));
    this.append(entries);
    if (newer !== null) this.list.append(this.ends.item("newer", WORDS.newer));
    if (!entries.length) this.list.append(el("li", { className: "empty" }, this.nothing));
  }

  append(entries) {
    for (const entry of entries) {
      if (entry.kind === "text" && this.last?.kind === "text") addText(this.list.lastElementChild, entry);
      else this.list.append(this.row(entry, this.last));
      this.last = entry;
    }
  }

  row(entry, before) {
    const { weight, word, nodes, tone, opens, reads } = line(entry);
    const rest = weight === "step" && el("span", { className: "rest" }, nodes);
    return el(
      "li",
      {
        className: [weight, tone, ...repeats(entry, before)].filter(Boolean).join(" "),
        dataset: { seq: entry.seq, kind: entry.kind, thread: entry.thread },
        tabIndex: -1,
      },
      el("time", { title: full(entry.at) }, clockSeconds(entry.at)),
      el("span", { className: "dot", "aria-hidden": "true" }),
      el(
        "div",
        { className: "what" },
        el("p", { className: "word" }, el("span", {}, word), rest, label(entry)),
        weight === "event" && nodes,
        opens && el("button", { type: "button", className: "open", tabIndex: -1 }, "What the model saw"),
        reads && el("button", { type: "button", className: "to-reading", tabIndex: -1 }, "How it reads"),
      ),
    );
  }

  choose(row, event) {
    if (!row?.dataset.seq || event.target.closest("a")) return;
    this.mark(row, true);
    const button = event.target.closest("button");
    if (button) this.onPress(button, row);
    else if (getSelection().isCollapsed) row.classList.toggle("whole");
  }

  onKey(event) {
    const row = event.target.closest("#entries > [data-seq]");
    if (event.key === "Enter" && row && !event.target.closest("a")) {
      event.preventDefault();
      const button = row.querySelector("button");
      if (button) this.onPress(button, row);
      else row.classList.toggle("whole");
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    this.move(step);
  }

  /** So many entries down (or up: below zero) from where one is, from nowhere to the newest; returns its seq. */
  move(step, among = "") {
    if (step === Infinity && !this.feed.live) return void this.onNewest();
    const rows = [...this.list.querySelectorAll(`:scope > [data-seq]${among}, :scope > .current`)];
    const here = rows.findIndex((row) => row.classList.contains("current"));
    const there = here < 0 && Number.isFinite(step) ? Infinity : here + step;
    const next = rows[Math.max(0, Math.min(rows.length - 1, there))];
    if (!next || next === rows[here]) return null;
    this.mark(next, true);
    next.scrollIntoView({ block: "nearest" });
    return Number(next.dataset.seq);
  }

  mark(row, focused) {
    if (!row) return;
    for (const other of this.list.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    this.list.querySelector(".current")?.classList.remove("current");
    row.classList.add("current");
    row.tabIndex = 0;
    for (const opens of row.querySelectorAll("button, .seq")) opens.tabIndex = 0;
    if (focused) goOnAt(row);
  }

  toEnd() {
    toEnd(this.list);
  }

  refocus() {
    this.list.querySelector(".current")?.focus();
  }
}

/** What the entry before already shows: its second, its thread. */
function repeats(entry, before) {
  return [
    before && clockSeconds(before.at) === clockSeconds(entry.at) && "same-time",
    before?.thread === entry.thread && "same-thread",
  ];
}

/** Texts are read by the dozen: one line for all of them. */
function addText(row, entry) {
  const names = [...(row.dataset.names ?? row.querySelector(".rest").textContent).split(", "), entry.body.name];
  row.dataset.names = names.join(", ");
  row.title = names.join("\n");
  const more = ` and ${names.length - 1} more of the owner's texts`;
  row.querySelector(".rest").replaceChildren(el("b", {}, names[0]), more);
}

/** Its thread, and its seq, which is a link to it. */
function label({ seq, thread }) {
  const hue = parseInt(thread.slice(5, 9), 16) % 360 || 0;
  return el(
    "span",
    { className: "label", style: { "--hue": hue } },
    el("span", { className: "session", title: thread }, el("i", {}), named(thread)),
    el("a", { className: "seq", href: `#${seq}`, tabIndex: -1 }, `#${seq}`),
  );
}
