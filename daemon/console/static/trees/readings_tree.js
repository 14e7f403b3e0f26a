// Readings as trees: the rounds of each, its cells, their calls of other models, and the readings below.
// Keys place an entry: the second cell made the call `…/read#1/cell#2!in/:3f9a#1/llm_query#1`.

import { readingEnd } from "../base/outcomes.js";

const STEP = /^(.*)\/([a-z_-]+)#(\d+)(!done)?$/;
const INSIDE = /^(.*)\/cell#(\d+)!in\/[^/]+$/;

/** The path of the reading that this key is a step of. */
export const pathOf = (key) => key.slice(0, key.lastIndexOf("/"));

/** Was the reading of this entry called by a cell of another one? */
export const isCalled = ({ key }) => key.includes("!in/");

/** The paths of the readings that this entry stands in, from the one that nobody called. */
export function pathsTo({ key }) {
  const path = pathOf(key);
  const above = INSIDE.exec(path)?.[1];
  return above ? [...pathsTo({ key: `${above}/` }), path] : [path];
}

export class Readings {
  constructor() {
    this.roots = [];
    this.byPath = new Map();
    this.executions = new Map();
  }

  /** Take an entry in; returns the readings and the cells that look different now. */
  take(entry) {
    if (entry.kind in TURNS) return this.turn(entry);
    const step = STEP.exec(entry.key);
    if (!step || !this.isRead(entry)) return [];
    const [, path, name, number] = step;
    if (name === "llm_query") {
      const [, above, cell] = INSIDE.exec(path) ?? [];
      return above ? this.reading(above, entry).cell(Number(cell), entry).ask(entry) : [];
    }
    return STEPS[entry.kind](this.reading(path, entry), entry, Number(number));
  }

  /** Does it belong to a reading? */
  isRead({ kind, key, body }) {
    if (kind === "model-call") return body.reading;
    if (kind === "system-message") return this.byPath.has(pathOf(key));
    return kind in STEPS;
  }

  /** The reading with this path, which stands in the cell that called it. */
  reading(path, entry) {
    const known = this.byPath.get(path);
    if (known) return known;
    const [, above, number] = INSIDE.exec(path) ?? [];
    const parent = above ? this.reading(above, entry).cell(Number(number), entry) : null;
    const reading = new Reading(path, parent, entry);
    this.byPath.set(path, reading);
    if (parent) parent.called.push(reading);
    else this.roots.push(reading);
    return reading;
  }

  /** A turn begins, ends or starts anew: what it has not read to the end goes on, waits or is broken off. */
  turn({ kind, key, body }) {
    const [execution, halted] = TURNS[kind](this.executions, pathOf(key), body);
    const under = (path) => path.startsWith(execution) && "/~".includes(path[execution.length]);
    const unfinished = this.roots.filter((root) => !root.ended && under(root.path));
    return unfinished.filter((root) => root.halted !== halted && root.halted !== BROKEN).flatMap((root) => root.halt(halted));
  }
}

/** A reading: its `items` are {call}, {cell} and {told}, in their order. */
class Reading {
  constructor(path, parent, { seq, at, thread }) {
    Object.assign(this, { path, parent, seq, at, thread });
    this.root = parent?.reading.root ?? this;
    this.depth = parent ? parent.reading.depth + 1 : 0;
    this.number = parent ? (this.root.below += 1) : 0;
    this.below = 0;
    this.began = null;
    this.forgotten = false;
    this.ended = null;
    this.halted = "";
    this.rounds = 0;
    this.items = [];
    this.cells = new Map();
    this.spent = { calls: 0, cost: 0, worth: 0 };
  }

  cell(number, entry) {
    const known = this.cells.get(number);
    if (known) return known;
    const cell = new Cell(this, number, entry);
    this.cells.set(number, cell);
    this.items.push({ cell });
    return cell;
  }

  /** "answered", "partial" …; without an end of its own it stands as what it stands in. */
  get state() {
    if (this.ended) return readingEnd(this.ended).state;
    if (this.forgotten) return FORGOTTEN;
    if (!this.parent) return this.halted || "reading";
    const around = this.parent.state;
    return around === "running" ? "reading" : around === WAITS ? WAITS : BROKEN;
  }

  /** It goes no further for now; all that is not over in it looks different. */
  halt(halted) {
    this.halted = halted;
    return this.all();
  }

  /** Itself, and all that stands in it. */
  all() {
    const cells = [...this.cells.values()];
    return [this, ...cells, ...cells.flatMap((cell) => cell.called.flatMap((reading) => reading.all()))];
  }

  /** All that this stands in, from itself up. */
  lineage() {
    return [this, ...(this.parent?.lineage() ?? [])];
  }
}

class Cell {
  constructor(reading, number, { seq }) {
    Object.assign(this, { reading, number, seq });
    this.code = null;
    this.ran = null;
    this.asked = [];
    this.failed = 0;
    this.called = [];
    this.spent = { calls: 0, cost: 0, worth: 0 };
    this.asking = { calls: 0, cost: 0, worth: 0 };
  }

  get state() {
    if (this.ran) return this.ran.lost ? "lost" : this.ran.failed ? "failed" : this.ran.final === null ? "" : "final";
    const around = this.reading.state;
    return around === "reading" ? "running" : around === WAITS ? WAITS : BROKEN;
  }

  ask(entry) {
    this.asked.push(entry);
    if (!["ok", "cut"].includes(entry.body.outcome)) this.failed += 1;
    pay([this.asking], entry.body);
    return paid(this.lineage(), entry.body);
  }

  lineage() {
    return [this, ...this.reading.lineage()];
  }
}

const FORGOTTEN = "forgotten";
const WAITS = "waits";
const BROKEN = "broken off";

/** What each kind of entry does to its reading. */
const STEPS = {
  reading: (reading, { body, forgotten }) => {
    reading.began = body;
    reading.forgotten = Boolean(forgotten);
    return reading.lineage();
  },
  "model-call": (reading, entry) => {
    if (entry.body.name === "recurse") reading.rounds += 1;
    reading.items.push({ call: entry });
    return paid(reading.lineage(), entry.body);
  },
  "system-message": (reading, entry) => {
    reading.items.push({ told: entry });
    return [reading];
  },
  cell: (reading, entry, number) => {
    const cell = reading.cell(number, entry);
    cell.code = entry.body.code;
    return cell.lineage();
  },
  "cell-ran": (reading, entry, number) => {
    const cell = reading.cell(number, entry);
    cell.ran = entry.body;
    return [...cell.lineage(), ...cell.called.flatMap((called) => called.all())];
  },
  "reading-ended": (reading, entry) => {
    reading.ended = entry.body;
    reading.end = entry;
    return [...reading.all(), ...reading.lineage()];
  },
};

/** [whose readings these are, how these stand now] */
const TURNS = {
  "turn-began": (executions, turn, { execution }) => {
    executions.set(turn, execution);
    return [execution, ""];
  },
  "turn-ended": (executions, turn, { outcome }) => [executions.get(turn) ?? turn, outcome === "suspended" ? WAITS : BROKEN],
  restarted: (_, path) => [path, BROKEN],
};

/** Who has paid for this call. One that was not made costs nothing, one from before a restart is paid. */
function paid(lineage, call) {
  if (call.outcome !== "over-budget" && !call.taken_from) pay(lineage.map(({ spent }) => spent), call);
  return lineage;
}

function pay(purses, { cost, worth }) {
  for (const purse of purses) {
    purse.calls += 1;
    purse.cost += cost;
    purse.worth += worth;
  }
}
