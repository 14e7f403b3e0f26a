// The threads of conversations as a tree: speech and thoughts in each, its branches, its plan, its state.

import { thoughtIn } from "../base/inner_words.js";
import { above } from "../base/names.js";
import { freely, isOpen, privately } from "../base/sections.js";
import { isCalled, pathOf } from "./readings_tree.js";

const MOST = 400;
/** Kinds that belong to the talk of the soul with people and with itself. */
const TALK = new Set([
  "message", "stop", "answer", "timer", "wish", "relayed", "spoken", "asked", "answered", "limit", "remembered",
  "self-call", "inner-message", "system-message", "context-cleared", "prompt-shortened", "action", "thread-ended", "attempt-failed", "restarted",
  "outage", "given-up", "command", "to-say", "process-ended", "fault", "log", "reading", "reading-ended",
]);

export class Thoughts {
  constructor() {
    this.nodes = new Map();
    this.roots = [];
    this.readings = new Set();
  }

  /** Take an entry in; returns the threads that look different now. */
  take(entry) {
    if (!entry.thread.startsWith("sess-")) return [];
    const node = this.node(entry.thread);
    const more = STATES[entry.kind]?.(node, entry, this) ?? [];
    if (belongs(entry) && !this.isInReading(entry)) node.add({ entry, repeats: this.repeats(entry) });
    return [...lineage(node), ...more];
  }

  /** A reading has a tree of its own: here stands that it began, and how it ended. */
  isInReading(entry) {
    const path = pathOf(entry.key);
    if (entry.kind === "reading") this.readings.add(path);
    return entry.body.reading || isCalled(entry) || (this.readings.has(path) && !entry.kind.startsWith("reading"));
  }

  /** Is this the answer of a branch, as it stands at the end of that branch? */
  repeats({ kind, body }) {
    const branch = kind === "inner-message" && this.nodes.get(body.sender);
    return Boolean(branch) && branch.ended && branch.last === body.text;
  }

  /** The thread with this id, which begins where its branch does in the one above it. */
  node(id) {
    const known = this.nodes.get(id);
    if (known) return known;
    const up = above(id);
    const parent = up && this.node(up);
    const node = new Node(id, parent);
    this.nodes.set(id, node);
    if (parent) parent.add({ branch: node });
    else this.roots.push(node);
    return node;
  }

  /** [[state, how many branches of this conversation are in it]] */
  count(root) {
    const counts = new Map();
    for (const { root: its, parent, state } of this.nodes.values()) {
      if (parent && its === root) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return [...counts];
  }
}

class Node {
  constructor(id, parent) {
    this.id = id;
    this.parent = parent;
    this.root = parent?.root ?? this;
    this.number = parent ? (this.root.begun += 1) : 0;
    this.begun = 0;
    this.state = parent ? "begun" : "";
    this.plan = null;
    this.opened = null;
    this.last = "";
    this.items = [];
    this.gone = 0;
  }

  /** Keep a word or a branch of it; of very many, the newest. */
  add(item) {
    this.items.push(item);
    if (this.items.length > MOST) {
      this.items.shift();
      this.gone += 1;
    }
  }

  get ended() {
    return ENDED.has(this.state);
  }
}

const ENDED = new Set(["completed", "failed", "cancelled", "limited", "forgotten"]);

/** What an entry says about its thread; each may name more threads that look different now. */
const STATES = {
  thread: (node, { body }) => void (node.opened = body),
  message: (node, { body, forgotten }) => void (node.last = forgotten ? "forgotten" : `${body.name === body.user ? `<@${body.user}>` : body.name}: ${body.text}`),
  "self-call": (node, { body }) => void (node.last = body.text),
  "inner-message": (node, { body }) => void (node.last ||= body.text),
  plan: (node, { body }) => void (node.plan = body),
  "turn-began": (node) => turn(node, "thinking"),
  "turn-resumed": (node) => turn(node, "thinking"),
  "turn-ended": (node) => turn(node, node.parent ? "waiting" : ""),
  "thread-spawned": (_, { body, forgotten }, thoughts) => {
    const branch = thoughts.node(body.thread);
    if (forgotten) branch.state = "forgotten";
    return [branch];
  },
  "thread-ended": (node, { body }) => {
    node.state = body.status;
    node.last = String(body.result ?? "") || node.last;
  },
};

function turn(node, state) {
  if (!node.ended) node.state = state;
}

/** A call belongs to the talk where it says what was thought. */
function belongs({ kind, body }) {
  return kind === "model-call" ? Boolean(thoughtOf(body)) : TALK.has(kind);
}

/** What was thought in a call, and for nobody to read. */
export function thoughtOf({ name, text, schema }) {
  if (!text || schema) return "";
  if (name === "think") return text;
  if (name === "tick") return thoughtIn(text);
  return isOpen({ name }) ? freely(text) : privately(text);
}

function lineage(node) {
  return node ? [node, ...lineage(node.parent)] : [];
}
