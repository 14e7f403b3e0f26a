// Entries grouped into turns: messages, thoughts, choices, actions and speech of each, and its branches.

import { choice } from "../base/entry_lines.js";
import { above } from "../base/names.js";
import { fruitless } from "../base/outcomes.js";
import { isCalled } from "../trees/readings_tree.js";
import { thoughtOf } from "../trees/threads_tree.js";

/** So many turns are kept at the top, and so many entries and moments of each: of more, the newest. */
const MOST = 300;
const MOST_ENTRIES = 400;
const MOST_MOMENTS = 200;

/** What a thread is to answer: it waits until a turn takes it up. */
const INPUTS = new Set([
  "message", "stop", "answer", "timer", "wish", "relayed", "self-call", "inner-message", "afterthought", "woke", "reminder",
  "cancel", "tick-due", "inner-began", "process-ended", "forget-done", "delete-done",
]);
/** Of these it is worth showing that they wait. */
const WAITS = new Set(["message", "stop", "answer", "timer", "process-ended"]);
/** While one of these is open its execution waits. */
const AWAITED = new Set(["asked", "waiting"]);
/** What happens outside of turns and is worth a line. */
const BESIDE = new Set(["life-began", "life-ended", "life-lost", "heard", "noticed", "fault", "unbegun", "forgotten", "clock"]);

/** How the key of what an execution records begins. */
const EXECUTION = /^.*?@\d+/;

/** To which part of its turn an entry belongs; what is not named here is machinery. */
const PARTS = {
  transition: "chose", "self-call": "chose",
  action: "did", remembered: "did", person: "did", "context-cleared": "did", plan: "did", command: "did", "notes-shown": "did",
  corrected: "did", "to-forget": "did", "to-delete": "did", "process-started": "did", "to-say": "did", "tool-wanted": "did", "tool-errand": "did", intent: "did", log: "did",
  spoken: "said", asked: "said", "thread-ended": "said",
  "attempt-failed": "trouble", restarted: "trouble", outage: "trouble", "outage-ended": "trouble", "given-up": "trouble",
  limit: "trouble", "last-words": "trouble", "turn-resumed": "trouble", unsaid: "trouble", "card-missed": "trouble",
};

export class Turns {
  constructor() {
    this.roots = [];
    this.stood = 0; // how many stand, or stood, at the top
    this.threads = new Map();
    this.branches = new Map();
    this.bySeq = new Map();
    this.waiting = new Map();
    this.executions = new Map();
    this.awaited = new Map();
  }

  /** Take an entry in; returns the turns and branches that look different now. */
  take(entry) {
    return [...this.settle(entry), ...this.place(entry)];
  }

  /** Close what executions waited for and this entry closes; returns what looks different then. */
  settle({ closes }) {
    const settled = [];
    for (const seq of closes ?? []) {
      const execution = this.awaited.get(seq);
      if (!execution) continue;
      this.awaited.delete(seq);
      execution.open.delete(seq);
      settled.push(...(execution.last?.lineage() ?? []));
    }
    return settled;
  }

  /** The execution of this key, which may go on over several turns: what it waits for (`open`), and its latest turn
      (`last`). `known`: the page holds something that it asked. */
  execution(key) {
    const [id] = EXECUTION.exec(key) ?? [key];
    if (!this.executions.has(id)) this.executions.set(id, { open: new Set(), known: false, last: null });
    return this.executions.get(id);
  }

  leaveOpen({ seq, key, forgotten }) {
    const execution = this.execution(key);
    execution.known = true;
    if (forgotten) return;
    execution.open.add(seq);
    this.awaited.set(seq, execution);
  }

  place(entry) {
    if (entry.kind === "forgotten") this.close(entry.closes);
    if (BESIDE.has(entry.kind)) return this.put(new Beside(entry));
    if (!entry.thread.startsWith("sess-")) return [];
    const thread = this.thread(entry.thread);
    if (entry.kind === "undeliverable") this.close(entry.closes);
    if (entry.kind === "thread") thread.opened = entry.body;
    if (entry.kind === "turn-began") return this.begin(thread, entry);
    if (AWAITED.has(entry.kind)) this.leaveOpen(entry);
    const turn = this.turnOf(thread, entry);
    const came = INPUTS.has(entry.kind) ? this.wait(thread, entry) : [];
    if (!turn) return came;
    turn.keep(entry);
    this.bySeq.set(entry.seq, turn);
    STEPS[entry.kind]?.(turn, entry, this);
    const part = partOf(entry);
    if (part) turn.add({ part, entry });
    return turn.lineage();
  }

  thread(id) {
    if (!this.threads.has(id)) this.threads.set(id, { id, opened: null, now: null, last: null });
    return this.threads.get(id);
  }

  /** The turn that wrote this: that of its thread, or the one of what it follows from. What it says to itself is
      the one input that it writes. */
  turnOf(thread, entry) {
    if (INPUTS.has(entry.kind) && entry.kind !== "self-call") return null;
    const turn = thread.now ?? this.bySeq.get(entry.cause);
    if (turn || thread.last || !entry.key.startsWith(`${entry.thread}@`)) return turn ?? null;
    thread.now = new Turn(thread, null, entry, this.execution(entry.key)); // it began further back than what the page holds
    this.stand(thread.now);
    return thread.now;
  }

  begin(thread, entry) {
    const execution = this.execution(entry.body.execution || entry.key);
    const before = execution.last?.lineage() ?? [];
    const turn = new Turn(thread, entry, entry, execution);
    const inputs = entry.body.inputs.map((seq) => this.waiting.get(seq)).filter(Boolean);
    for (const { entry: input, node } of inputs) {
      this.drop(node);
      this.waiting.delete(input.seq);
      turn.hear(input);
      this.bySeq.set(input.seq, turn);
    }
    turn.keep(entry);
    this.bySeq.set(entry.seq, turn);
    thread.now = turn;
    return [...before, ...this.stand(turn)];
  }

  /** Under the branch whose thread it is of; where nobody knows that, at the top. */
  stand(turn) {
    const branch = this.branches.get(turn.thread.id);
    if (!branch) return this.put(turn);
    turn.parent = branch;
    branch.turns.push(turn);
    return turn.lineage();
  }

  put(node) {
    this.roots.push(node);
    this.stood += 1;
    if (this.roots.length > MOST) this.roots.shift();
    return [node];
  }

  drop(node) {
    const at = this.roots.lastIndexOf(node);
    if (at < 0) return;
    this.roots.splice(at, 1);
    this.stood -= 1;
  }

  /** Nobody has taken it up yet. */
  wait(thread, entry) {
    const node = WAITS.has(entry.kind) && !entry.forgotten && !above(entry.thread) ? new Waiting(thread, entry) : null;
    this.waiting.set(entry.seq, { entry, node });
    return node ? this.put(node) : [];
  }

  /** These wait no more: a turn that ends has heard them, though it began before they came. */
  close(closed, turn) {
    for (const seq of closed ?? []) {
      const input = this.waiting.get(seq);
      if (!input) continue;
      this.drop(input.node);
      this.waiting.delete(seq);
      turn?.hear(input.entry);
      if (turn) this.bySeq.set(seq, turn);
    }
  }

  /** The turn, or what else stands at the top, in which this entry stands; null where it stands in none. */
  rootWith(seq) {
    const turn = this.bySeq.get(seq);
    return turn ? turn.lineage().at(-1) : (this.roots.find((root) => root.seq === seq) ?? null);
  }
}

/** What stands in the list: one or several entries that belong together. */
class Node {
  constructor({ seq, at, thread }) {
    Object.assign(this, { seq, at, id: thread, parent: null });
  }

  /** All that this stands in, from itself up. */
  lineage() {
    return [this, ...(this.parent?.lineage() ?? [])];
  }
}

/** One thing that happened outside of turns. */
class Beside extends Node {
  constructor(entry) {
    super(entry);
    this.entry = entry;
  }
}

/** Something that nobody has taken up yet. */
class Waiting extends Beside {
  constructor(thread, entry) {
    super(entry);
    this.thread = thread;
  }
}

/** `moments` are {part, entry, done, branch, run}: the parts of the turn, in their order. */
class Turn extends Node {
  constructor(thread, began, first, execution) {
    super(first);
    this.execution = execution;
    execution.last = this;
    this.thread = thread;
    this.before = thread.last;
    thread.last = this;
    this.began = began;
    this.ended = null;
    this.heard = [];
    this.moments = [];
    this.begun = new Map();
    this.begunBranches = 0;
    this.run = null;
    this.process = began?.body.process ?? "";
    this.mood = "";
    this.entries = [];
    this.gone = 0;
    this.spent = { calls: 0, cost: 0, worth: 0 };
  }

  /** "thinking", "waits", "stopped" …; empty where it simply ended. */
  get state() {
    if (!this.ended) return this.began && this.thread.now === this ? "thinking" : "";
    const { outcome } = this.ended.body;
    return outcome === "suspended" && !this.waits ? "" : (ENDS[outcome] ?? "");
  }

  /** True while what it asked was neither answered, nor withdrawn, nor forgotten. */
  get waits() {
    const { open, known, last } = this.execution;
    return last === this && !this.ended.forgotten && (open.size > 0 || !known);
  }

  get seconds() {
    return this.ended && this.began ? this.ended.at - this.began.at : null;
  }

  keep(entry) {
    this.entries.push(entry);
    if (this.entries.length <= MOST_ENTRIES) return;
    this.entries.shift();
    this.gone += 1;
  }

  hear(entry) {
    this.heard.push(entry);
    this.entries.push(entry);
    this.entries.sort((one, other) => one.seq - other.seq);
    const moment = { part: "heard", entry };
    const later = this.moments.findIndex((other) => other.entry.seq > entry.seq);
    this.moments.splice(later < 0 ? this.moments.length : later, 0, moment);
  }

  /** In a run it is a moment of that. */
  add(moment) {
    const moments = this.run?.moments ?? this.moments;
    moments.push(moment);
    if (moments.length > MOST_MOMENTS) moments.shift();
    this.begun.set(moment.entry.key, moment);
  }

  /** What came of what was begun under this key belongs to it. */
  done(key, entry) {
    const moment = this.begun.get(key);
    if (moment) moment.done = entry;
    this.begun.delete(key);
  }

  /** This turn, and all that it stands in, pay for it. */
  pay({ cost, worth }) {
    for (const { spent } of this.lineage()) {
      spent.calls += 1;
      spent.cost += cost;
      spent.worth += worth;
    }
  }
}

/** A thread under another one: begun in a turn, it has turns of its own. */
class Branch extends Node {
  constructor(entry, parent) {
    super(entry);
    this.id = entry.body.thread;
    this.parent = parent;
    this.number = parent.begunBranches += 1;
    this.forgotten = Boolean(entry.forgotten);
    this.turns = [];
    this.ended = null;
    this.spent = { calls: 0, cost: 0, worth: 0 };
  }

  get state() {
    if (this.ended) return this.ended.body.status;
    if (this.forgotten) return "forgotten";
    return this.turns.at(-1)?.state === "thinking" ? "thinking" : "waits";
  }

  get seconds() {
    return this.ended ? this.ended.at - this.at : null;
  }
}

const ENDS = { suspended: "waits", stopped: "stopped", failed: "failed", abandoned: "failed" };

/** What some kinds do to their turn. */
const STEPS = {
  "turn-ended": (turn, entry, turns) => {
    turn.ended = entry;
    turn.thread.now = null;
    turns.close(entry.closes, turn);
  },
  transition: (turn, { body }) => void (turn.process = body.now ? body.to : turn.process),
  mood: (turn, { body }) => void (turn.mood = body.mood),
  "model-call": (turn, { body }) => body.outcome !== "over-budget" && !body.taken_from && turn.pay(body),
  observation: (turn, entry) => turn.done(entry.key.replace(/!done$/, ""), entry),
  "thread-spawned": (turn, entry, turns) => {
    const branch = new Branch(entry, turn);
    turns.branches.set(branch.id, branch);
    turn.add({ part: "did", entry, branch });
  },
  "thread-ended": (turn, entry) => {
    if (turn.parent) turn.parent.ended = entry;
  },
  reading: (turn, entry) => !isCalled(entry) && turn.add({ part: "did", entry }),
  "reading-ended": (turn, entry) => turn.done(entry.key.replace("/reading-ended#", "/reading#"), entry),
  ism: (turn, entry) => {
    if (turn.run || !entry.body.text.startsWith("## Goal")) return;
    const run = { began: entry, ended: null, moments: [] };
    turn.add({ part: "did", entry, run });
    turn.run = run;
  },
  "ism-ended": (turn, entry) => {
    if (turn.run) turn.run.ended = entry;
    turn.run = null;
  },
};

function partOf(entry) {
  const { kind, body } = entry;
  if (kind !== "model-call") return isHousework(entry) ? null : PARTS[kind];
  if (body.reading || isCalled(entry)) return null; // a reading has a tree of its own
  if (fruitless(body)) return "trouble";
  if (choice(body.text)) return "chose";
  return thoughtOf(body) ? "thought" : null;
}

/** The daemon puts its own house in order by actions, too. */
const isHousework = ({ kind, body }) => kind === "action" && /^(settle-\d+|may-say|check-citations)$/.test(body.name);
