// The inner life on the page: its state, its contents, and its ticks, the newest first.

import { byId, el } from "../base/dom.js";
import { money, several } from "../base/format.js";
import { filterWords, moment, span, waitWords } from "../base/inner_words.js";
import { ask } from "../base/request.js";
import { Still } from "../base/still_reading.js";
import { Walk } from "../base/tree_keys.js";
import { Possessions } from "./inner_contents.js";
import { OlderTicks, TickView } from "./tick.js";

/** Milliseconds after an entry until it is looked at again; many at once ask for one look. */
const SOON = 250;
const NOTHING = "It has not thought yet.";

export class Inner extends Walk {
  constructor(openers) {
    super("ticks", openers);
    this.section = byId("inner");
    this.now = byId("inner-now");
    this.possessions = new Possessions(byId("inner-has"));
    this.still = new Still(() => this.look());
    this.ticks = new Map();
    this.older = new OlderTicks();
    this.due = 0;
    this.shown = false;
  }

  // Nothing of it stands in the entries of a thread that is open: it is asked for as a whole.
  fill() {}
  take() {}

  /** Something was written: how it stands may be other now. */
  hear({ kind }) {
    if (kind === "erased") this.forget();
    if (!this.shown || this.due) return;
    this.due = setTimeout(() => this.look(), SOON);
  }

  show(shown) {
    this.shown = shown;
    this.section.hidden = !shown;
    if (shown) this.look();
  }

  toEnd() {
    this.section.scrollTop = 0;
  }

  async look() {
    clearTimeout(this.due);
    this.due = 0;
    const inner = await ask("/console/inner");
    this.still.show(inner.still_reading);
    this.now.replaceChildren(...standing(inner), this.still.node);
    if (!inner.still_reading) this.possessions.show(inner);
    this.put(inner);
  }

  /** Ticks never change: those that are there stay as they are. */
  put({ ticks, older }) {
    const fresh = ticks.filter(({ seq }) => !this.ticks.has(seq));
    if (this.ticks.size && ticks.length && fresh.length === ticks.length && older) this.forget();
    this.list.querySelector(".empty")?.remove();
    for (const tick of fresh.reverse()) this.list.prepend(this.view(tick));
    if (!this.ticks.size) this.list.append(el("li", { className: "empty", role: "none" }, NOTHING));
    if (!this.older.seen) this.stand(older);
    this.first();
  }

  /** It thought so often since that there is a gap: begin anew. */
  forget() {
    this.ticks.clear();
    this.older.seen = false;
    this.list.replaceChildren();
  }

  stand(older) {
    this.older.show(older);
    if (older) this.list.append(this.older.item);
    else this.older.item.remove();
  }

  async further() {
    const oldest = Math.min(...this.ticks.keys());
    const { ticks, older } = await ask(`/console/inner?before=${oldest}`);
    const fresh = ticks.filter(({ seq }) => !this.ticks.has(seq)).map((tick) => this.view(tick));
    this.older.item.before(...fresh);
    this.older.seen = true;
    this.stand(older);
    if (fresh.length) this.focus(fresh[0]);
  }

  view(tick) {
    const { item } = new TickView(this, tick);
    this.ticks.set(tick.seq, item);
    return item;
  }

  redraw(view) {
    view.draw();
  }

  press(button, item) {
    if (button.matches(".older")) this.further();
    else super.press(button, item);
  }
}

/** How it stands: whether it thinks or sleeps, what it has spent, how it has set itself. */
function standing(inner) {
  const now = el("p", { className: "standing", dataset: { state: inner.thinks ? "thinks" : "rests" } }, state(inner));
  if (inner.still_reading) return [now]; // the rest is what is being read
  const { budget, settings } = inner;
  const spent = budget.daily === null ? "" : ["Today ", el("b", {}, money(budget.spent)), ` of ${money(budget.daily)}`];
  const share = budget.daily > 0 ? Math.min(1, budget.spent / budget.daily) : 1;
  const bar = el("div", { className: share >= 1 ? "budget spent" : "budget", "aria-hidden": "true" }, el("span", { style: { width: `${share * 100}%` } }));
  return [
    now,
    budget.daily !== null && el("p", { className: "purse" }, el("span", {}, spent), bar, el("span", {}, `${budget.messages} of ${several(budget.daily_messages, "message")}`)),
    el("p", { className: "cycle" }, cycle(settings)),
    el("p", { className: "cycle" }, el("a", { href: "#sess-inner" }, "All its entries")),
  ].filter(Boolean);
}

function state({ on, thinks, next }) {
  if (!on) return "Its inner life is switched off. This is what it thought before.";
  if (thinks) return "It thinks.";
  if (!next) return "It waits for nothing.";
  const due = next.due && `at ${moment(next.due)}`;
  if (!next.idle) return `It thinks again ${due || "soon"}.`;
  const awaited = next.processes.length || next.notes ? waitWords({ processes: next.processes, notes: next.notes }) : "";
  return `It sleeps until ${[awaited, due && `${awaited ? "it is " : ""}${moment(next.due)}`].filter(Boolean).join(", or ")}.`;
}

function cycle({ mode, filter, responses, pause }) {
  const notes = mode === "auto" ? `is shown ${filterWords(filter)}` : "is told how many notes there are";
  return `It ${notes}, sees its last ${several(responses, "reply").replace("replys", "replies")}, and pauses ${pause ? `for ${span(pause)}` : "as briefly as it can"} between two thoughts.`;
}
