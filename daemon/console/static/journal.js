// The right pane: the soul's journal as it grows, of everything or of the thread that is open, or as trees.

import { atEnd, byId, el, toEnd } from "./dom.js";
import { clockSeconds, full } from "./format.js";
import { Inner } from "./inner.js";
import { line } from "./lines.js";
import { live } from "./live.js";
import { isUnder, named, rootOf } from "./names.js";
import { ask } from "./reach.js";
import { Shelf } from "./shelf.js";
import { Tree } from "./tree.js";

const KEPT = 1000;
const PAGE = 10;
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, End: Infinity, Home: -Infinity };
const NOTHING = { all: "Nothing has happened yet.", thread: "The soul has written nothing about this thread." };

export class Journal {
  /** `onCall(seq)` is asked to open a model call; `onEntry(entry)` hears each new entry. */
  constructor({ onCall, onEntry, onConnection }) {
    this.onCall = onCall;
    this.onEntry = onEntry;
    this.onConnection = onConnection;
    this.list = byId("entries");
    const openers = { onCall, onReading: (seq) => this.toReading(seq), onWhole: (reading) => this.bringReading(reading) };
    this.trees = { thoughts: new Tree(openers), readings: new Shelf(openers), inner: new Inner(openers) };
    this.all = [];
    this.fresh = [];
    this.open = { key: null, id: null, entries: [] };
    this.filter = "all";
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("click", (event) => this.choose(event.target.closest("#entries > li"), event));
  }

  follow() {
    this.render();
    live(() => (this.all.length ? `/console/journal?since=${this.all.at(-1).seq}` : "/console/journal"), {
      onData: (entry) => this.take(entry),
      onUp: () => this.onConnection(true),
      onDown: () => this.onConnection(false),
    });
  }

  /** Show the entries of a conversation under "This thread"; its key is team:channel:root ts, or its id. */
  async openThread(key) {
    if (this.open.key === key) return;
    this.turnTo({ key, id: null, entries: [] });
    if (key === null) return;
    const answer = await ask(`/console/threads/${encodeURIComponent(key)}`).catch((error) => this.close(key, error));
    if (this.open.key !== key) return;
    const { thread, entries } = answer;
    const last = entries.at(-1)?.seq ?? 0;
    const id = thread ?? this.open.id;
    const since = this.all.filter((entry) => id && isUnder(entry.thread, id) && entry.seq > last);
    this.turnTo({ key, id, entries: [...entries, ...since] });
  }

  turnTo(open) {
    this.open = open;
    const whole = open.key !== null;
    for (const tree of Object.values(this.trees)) tree.fill(whole ? open.entries : this.all, whole);
    if (this.filter === "thread") this.render();
  }

  /** What could not be read is read when it is opened again. */
  close(key, error) {
    if (this.open.key === key) this.open = { key: null, id: null, entries: [] };
    throw error;
  }

  /** Its newest entry in sight: for a list that was hidden. */
  toEnd() {
    toEnd(this.list);
    this.tree?.toEnd();
  }

  /** The tree that is shown, where one is. */
  get tree() {
    return this.trees[this.filter];
  }

  /** Turn to the reading that begins with this entry, in its conversation. */
  async toReading(seq) {
    const entry = [...this.open.entries, ...this.all].find((one) => one.seq === seq);
    this.show("readings");
    if (this.open.key === null) await this.bringReading(entry);
    else this.trees.readings.goTo(entry);
  }

  /** Beside what is shown of all conversations, all that belongs to this reading. */
  async bringReading({ thread, key }) {
    const { entries } = await ask(`/console/threads/${encodeURIComponent(rootOf(thread))}`);
    if (this.open.key !== null) return;
    const known = new Set(entries.map(({ seq }) => seq));
    const others = this.all.filter(({ seq }) => !known.has(seq));
    this.trees.readings.fill([...entries, ...others].sort((one, other) => one.seq - other.seq), false);
    this.trees.readings.goTo({ key });
  }

  show(filter) {
    this.filter = filter;
    byId("filter").querySelector(`[value="${filter}"]`).checked = true;
    this.list.hidden = Boolean(this.tree);
    for (const [name, tree] of Object.entries(this.trees)) tree.show(name === filter);
    this.render();
  }

  take(entry) {
    if (this.all.some(({ seq, key }) => seq === entry.seq && key === entry.key)) return;
    if (this.all.length && entry.seq <= this.all.at(-1).seq) this.forget();
    this.all.push(entry);
    if (this.all.length > KEPT) this.all.shift();
    if (entry.key === `thread:${this.open.key}`) this.open.id = entry.thread;
    const here = this.open.id !== null && isUnder(entry.thread, this.open.id);
    const fresh = here && !(this.open.entries.at(-1)?.seq >= entry.seq);
    if (fresh) this.open.entries.push(entry);
    if (this.filter === "all" || (this.filter === "thread" && fresh)) this.add(entry);
    if (fresh || this.open.key === null) for (const tree of Object.values(this.trees)) tree.take(entry);
    this.trees.inner.hear(entry);
    this.onEntry(entry);
  }

  /** The daemon began another journal: what was shown is not of this one. */
  forget() {
    this.all = [];
    this.trees.inner.forget();
    this.turnTo({ ...this.open, entries: [] });
    this.render();
  }

  /** Rows are added once a frame: a page that opens gets hundreds of entries at once. */
  add(entry) {
    if (this.fresh.push(entry) === 1) requestAnimationFrame(() => this.flush());
  }

  flush() {
    const stay = atEnd(this.list);
    this.list.querySelector(".empty")?.remove();
    this.append(this.fresh);
    this.fresh = [];
    while (this.list.childElementCount > KEPT) this.list.firstElementChild.remove();
    if (stay) toEnd(this.list);
  }

  append(entries) {
    for (const entry of entries) {
      if (entry.kind === "text" && this.last?.kind === "text") addText(this.list.lastElementChild, entry);
      else this.list.append(this.row(entry, this.last));
      this.last = entry;
    }
  }

  render() {
    this.fresh = [];
    this.last = null;
    this.list.replaceChildren();
    if (this.tree) return;
    const shown = this.filter === "all" ? this.all : this.open.entries.slice(-KEPT);
    this.append(shown);
    if (!shown.length) this.list.append(el("li", { className: "empty" }, NOTHING[this.filter]));
    this.list.dataset.filter = this.filter;
    toEnd(this.list);
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
    if (!row) return;
    this.focus(row);
    this.press(event.target.closest("button"), row);
  }

  press(button, { dataset }) {
    if (button?.matches(".open")) this.onCall(Number(dataset.seq));
    else if (button?.matches(".to-reading")) this.toReading(Number(dataset.seq));
  }

  onKey(event) {
    const row = event.target.closest("#entries > li");
    const button = event.key === "Enter" && row?.querySelector("button");
    if (button) {
      event.preventDefault();
      this.press(button, row);
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    this.move(step);
  }

  /** So many entries down (or up: below zero) from where one is, from nowhere to the newest; returns its seq. */
  move(step, among = "") {
    if (this.tree) return this.tree.move(step, among);
    const rows = [...this.list.querySelectorAll(`:scope > [data-seq]${among}, :scope > .current`)];
    const here = rows.findIndex((row) => row.classList.contains("current"));
    const there = here < 0 && Number.isFinite(step) ? Infinity : here + step;
    const next = rows[Math.max(0, Math.min(rows.length - 1, there))];
    if (!next || next === rows[here]) return null;
    this.focus(next);
    return Number(next.dataset.seq);
  }

  focus(row) {
    for (const other of this.list.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    this.list.querySelector(".current")?.classList.remove("current");
    row.classList.add("current");
    row.tabIndex = 0;
    const button = row.querySelector("button");
    if (button) button.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  /** Back to the entry that one came from. */
  refocus() {
    if (this.tree) this.tree.refocus();
    else this.list.querySelector(".current")?.focus();
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

function label({ seq, thread }) {
  const hue = parseInt(thread.slice(5, 9), 16) % 360 || 0;
  return el(
    "span",
    { className: "label", style: { "--hue": hue } },
    el("span", { className: "session", title: thread }, el("i", {}), named(thread)),
    el("span", { className: "seq" }, `#${seq}`),
  );
}
