// How the daemon fares, in sentences: what is well, what is wrong, and what to do.

import { capabilityTable, serverSentences } from "./backend.js";
import { el } from "./dom.js";
import { clock, count, seconds, several, since } from "./format.js";
import { ERRORS } from "./outcomes.js";
import { ask, Unreachable } from "./reach.js";
import { standing } from "./reports.js";

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
      const [health, details] = await Promise.all([ask("/healthz"), ask("/console/health")]);
      this.show(sentences(health, details), facts(details), capabilityTable(details.backend));
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      this.show([bad("The daemon does not answer.", "Is it running? Start it with “make run”, or look at its log. This page tries again by itself.")]);
    }
  }

  show(told, known = [], table = null) {
    const items = told.map(({ tone, what, then }) => el("li", { dataset: { tone } }, el("p", {}, el("b", {}, what)), then && el("p", {}, then)));
    const rows = known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    this.body.replaceChildren(...items, ...(table ? [table] : []), ...(rows.length ? [el("li", { className: "known-facts" }, el("dl", {}, rows))] : []));
  }
}

/** What GET /healthz says, and GET /console/health of the models, in words: what is wrong comes first. */
export function sentences(health, details) {
  const told = [...models(details), ...serverSentences(details.backend), ...elsewhere(health), writing(health), hearing(health), silence(health), catchingUp(health)];
  const found = told.filter(Boolean);
  const rank = { bad: 0, warn: 1, good: 2 };
  return found.sort((a, b) => rank[a.tone] - rank[b.tone]);
}

const good = (what, then = "") => ({ tone: "good", what, then });
const warn = (what, then) => ({ tone: "warn", what, then });
const bad = (what, then) => ({ tone: "bad", what, then });

const ACCOUNT = new Set(["unauthorized", "no-credit", "forbidden", "unknown-model"]);

function models({ reports = [], forms = [], latency }) {
  const told = [...reports.map(model), ...forms.map((what) => warn("A model is asked for less.", what))];
  const answer = latency?.calls && !forms.length && reports.every(({ odd }) => odd);
  return answer ? [...told, good("The models answer.", "The last call of each was answered.")] : told;
}

function model(report) {
  if (report.odd) return warn("Answers of a model are odd.", standing(report));
  if (report.slow) return warn("A model is slow.", standing(report));
  return bad(ACCOUNT.has(report.failure) ? "Only you can mend this." : "A model does not answer.", standing(report));
}

/** What is wrong beside the models. */
function elsewhere({ wrong, reports = [] }) {
  const told = new Set(reports.map(({ sentence }) => sentence));
  return wrong.filter((what) => !told.has(what)).map((what) => bad("Only you can mend this.", what));
}

/** Names and values of what GET /console/health says besides. */
function facts({ models, version, uptime, sockets, sockets_wanted: wanted, latency, errors }) {
  if (!models) return [];
  const failed = Object.entries(errors).map(([kind, times]) => `${ERRORS[kind] ?? kind}: ${count(times)}`);
  return [
    ["Models", Object.entries(models).map(([role, name]) => el("span", {}, `${ROLES[role] ?? role}: `, el("code", {}, name)))],
    ["Version", version],
    ["Runs for", since(Date.now() / 1000 - uptime)],
    ["Connections to Slack", `${sockets} of ${wanted}`],
    ["A call takes", latency.calls ? `${seconds(latency.median)} (median), ${seconds(latency.most)} (95 %), of ${latency.calls > 1 ? "the last " : ""}${several(latency.calls, "answered call")}` : "No call was answered since the start."],
    ["Errors since the start", failed.length ? failed.join(", ") : "none"],
  ];
}

const ROLES = { speak: "speaks", fast: "chooses and checks", expert: "knows best", fallback: "stands in" };

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
  return until ? good("It has missed nothing.", `All is read that was said until ${clock(until)}.`) : null;
}
