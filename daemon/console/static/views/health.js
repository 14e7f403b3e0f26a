// Health of the daemon in sentences: its state, its faults, and their remedies.

import { el } from "../base/dom.js";
import { clock, count, seconds, several, since, whenExactly } from "../base/format.js";
import { ERRORS } from "../base/outcomes.js";
import { standing } from "../base/reports.js";
import { ask, Unreachable } from "../base/request.js";

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
      this.show(sentences(health, details), facts(details, health), capabilityTable(details.backend));
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
  const told = [...models(details), ...serverSentences(details.backend), ...elsewhere(health), ...ofTheLog(health), writing(health), hearing(health), silence(health), catchingUp(health)];
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
function facts({ models, version, uptime, sockets, sockets_wanted: wanted, latency, errors }, { machines = [] }) {
  if (!models) return [];
  const failed = Object.entries(errors).map(([kind, times]) => `${ERRORS[kind] ?? kind}: ${count(times)}`);
  return [
    ["Models", Object.entries(models).map(([role, name]) => el("span", {}, `${ROLES[role] ?? role}: `, el("code", {}, name)))],
    ["Version", version],
    ["Runs for", since(Date.now() / 1000 - uptime)],
    ["Connections to Slack", `${sockets} of ${wanted}`],
    ["A call takes", latency.calls ? `${seconds(latency.median)} (median), ${seconds(latency.most)} (95 %), of ${latency.calls > 1 ? "the last " : ""}${several(latency.calls, "answered call")}` : "No call was answered since the start."],
    ["Errors since the start", failed.length ? failed.join(", ") : "none"],
    ...machines.map((one) => [`Daemon ${one.machine}`, ofTheDaemon(one)]),
  ];
}

const ROLES = { speak: "speaks", fast: "chooses and checks", expert: "knows best", fallback: "stands in" };

function writing({ writable, damage, seq }) {
  if (damage) return bad("A part of the journal cannot be read.", damage);
  if (!writable) return bad("Nothing can be written.", "Is the disk full, or read-only? Free some space; messages wait in Slack meanwhile, and nothing is lost.");
  return good("The journal is whole, and can be written.", `It holds ${count(seq)} entries.`);
}

/** The log that several daemons share, and the part of this one; nothing where the journal is a file. */
function ofTheLog({ log, machine, at_work: atWork }) {
  if (!log) return [];
  if (!log.reachable) return [bad("The log does not answer.", `Since ${clock(log.since)}, ${machine} acknowledges and begins nothing. It goes on by itself when the log is back.`)];
  const told = [atWork ? good("It is at work.", `${machine} takes turns.`) : good("It stands by.", `${machine} follows the log, and takes over when the daemon at work ends.`)];
  return log.behind ? [...told, warn("Its copy of the log is behind.", `${count(log.behind)} of its entries are still to come.`)] : told;
}

function ofTheDaemon({ at_work: atWork, version, sockets, silent, clock_offset: offset }) {
  const parts = [atWork ? "at work" : "stands by", `version ${version}`, several(sockets, "connection"), `heard of ${seconds(silent)} ago`];
  return [...parts, ...(Math.abs(offset) >= 1 ? [`its clock is ${seconds(Math.abs(offset))} ${offset > 0 ? "slow" : "fast"}`] : [])].join(", ");
}

function hearing({ deaf, sockets, at_work: atWork = true }) {
  if (!atWork) return null;
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

// The server behind a base URL: a sentence on its list, and a table of its models' capabilities.

const SCHEMAS = { format: "by the server (output_config)", grammar: "by a grammar", prompt: "by the prompt alone" };
const UNKNOWN = "not known yet";

/** Sentences on the server and its list. */
export function serverSentences({ address, is_known: isKnown, listed, why, version, warnings = [] } = {}) {
  if (!address) return [];
  if (!isKnown) return [{ tone: "warn", what: "The model's server has not shown its list yet.", then: `${address} is asked again by itself.` }];
  const program = version === "unknown" ? "" : ` (${version})`;
  const list = listed === null ? `shows no list of models (${why}), so every name is accepted` : listed ? `lists ${several(listed, "model")}` : "lists no model, so every name is accepted";
  return [
    ...warnings.map((then) => ({ tone: "warn", what: "Look at the model's server.", then })),
    { tone: "good", what: "The model's server was looked up.", then: `${address}${program} ${list}.` },
  ];
}

/** A column for each model without a listed price; nothing where there is none. */
export function capabilityTable({ address, models = [] } = {}) {
  const shown = models.filter(({ is_listed: isListed }) => !isListed);
  if (!shown.length) return null;
  const head = el("tr", {}, el("th", { scope: "col" }, "Model"), ...shown.map(({ model }) => el("th", { scope: "col" }, el("code", {}, model))));
  const rows = Object.entries(ROWS).map(([name, told]) => el("tr", {}, el("th", { scope: "row" }, name), ...shown.map((one) => el("td", {}, told(one) ?? open(one)))));
  return el("li", { className: "capabilities" }, el("p", {}, el("b", {}, "What the models can do there"), ` (${address})`), el("div", {}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
}

const open = ({ asks }) => (asks.length ? UNKNOWN : "unclear");
const speed = (tokens) => (tokens ? `${tokens < 10 ? tokens.toFixed(1) : count(Math.round(tokens))} tokens a second` : undefined);
const either = (value, yes, no) => (value === null ? undefined : value ? yes : no);

/** The rows of the table: what stands in each for one model; undefined: nobody knows. */
const ROWS = {
  Window: ({ window }) => (window ? `${count(window)} tokens` : "the server does not say"),
  "Is held to JSON": ({ schema }) => SCHEMAS[schema],
  "Answers in": ({ keeps_sections: keeps }) => either(keeps, "sections, as it was asked to", "plain text: it does not keep sections"),
  "Sees images": ({ images }) => either(images, "yes", "no"),
  Reads: ({ prompt_speed: tokens }) => speed(tokens),
  Writes: ({ answer_speed: tokens }) => speed(tokens),
  "Requests at a time": ({ slots }) => (slots ? count(slots) : "the server does not say"),
  "Asked last": ({ looked_up_at: at }) => (at ? whenExactly(at) : undefined),
};
