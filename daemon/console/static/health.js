// How the daemon fares, in sentences: what is well, what is wrong, and what to do.

import { el } from "./dom.js";
import { clock, count, several, since } from "./format.js";
import { ask, Unreachable } from "./reach.js";

/** Seconds of silence that are worth a word. */
const QUIET = 90;
const AGAIN = 5_000;

export class Health {
  title = "Health";
  about = "What is well, what is wrong, and what to do";
  tools = [];

  constructor() {
    this.body = el("ul", { className: "health", role: "list" });
    setInterval(() => this.body.isConnected && !document.hidden && this.refresh(), AGAIN);
  }

  async refresh() {
    try {
      this.show(sentences(await ask("/healthz")));
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      this.show([bad("The daemon does not answer.", "Is it running? Start it with “make run”, or look at its log. This page tries again by itself.")]);
    }
  }

  show(told) {
    this.body.replaceChildren(...told.map(({ tone, what, then }) => el("li", { dataset: { tone } }, el("p", {}, el("b", {}, what)), then && el("p", {}, then))));
  }
}

/** What GET /healthz says, in words: what is wrong comes first. */
export function sentences(health) {
  const told = [writing(health), hearing(health), silence(health), catchingUp(health), ...health.wrong.map((what) => bad("Only you can mend this.", what))];
  const found = told.filter(Boolean);
  const rank = { bad: 0, warn: 1, good: 2 };
  return found.sort((a, b) => rank[a.tone] - rank[b.tone]);
}

const good = (what, then = "") => ({ tone: "good", what, then });
const warn = (what, then) => ({ tone: "warn", what, then });
const bad = (what, then) => ({ tone: "bad", what, then });

function writing({ writable, damage, seq }) {
  if (damage) return bad("A part of the journal cannot be read.", damage);
  if (!writable) return bad("Nothing can be written.", "Is the disk full, or read-only? Free some space; messages wait in Slack meanwhile, and nothing is lost.");
  return good("The journal is whole, and can be written.", `It holds ${count(seq)} entries.`);
}

function hearing({ deaf, sockets }) {
  if (deaf) return bad("No message can come in.", "There is no connection to Slack. Look at the network, and whether the app's token still holds: “python -m daemon doctor” says which. It is tried again by itself.");
  return good("It hears.", `${several(sockets, "connection")} to Slack ${sockets === 1 ? "is" : "are"} open.`);
}

function silence({ deaf, inbound_age: age }) {
  if (deaf || age === null || age === undefined || age < QUIET) return null;
  return warn(`Slack has been silent for ${since(Date.now() / 1000 - age)}.`, "If that goes on the connection is opened anew, by itself.");
}

function catchingUp({ catching_up: catching, left_to_read: left, caught_up_until: until }) {
  if (catching) return warn("It reads what was said while it was away.", left ? `${several(left, "place")} are left. What it finds there is answered as it comes.` : "What it finds there is answered as it comes.");
  return until ? good("It has read all that was said while it was away.", `All is read that was said until ${clock(until)}.`) : null;
}
