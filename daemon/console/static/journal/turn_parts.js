// The parts of a turn: messages, thoughts, choices, actions and speech; its title and its figures.

import { el } from "../base/dom.js";
import { chip, choice, line, outcome, quote } from "../base/entry_lines.js";
import { full, price, seconds, several, whenExactly } from "../base/format.js";
import { INNER, named, openedPlace, shortly, whoIs } from "../base/names.js";
import { givenIn } from "../base/outcomes.js";
import { planView } from "../base/plan.js";
import { coreWords } from "../base/sections.js";
import { thoughtOf } from "../trees/threads_tree.js";

const STATES = { waits: "waits for an answer", failed: "given up", stopped: "stopped", thinking: "thinking" };
/** What took no longer is not told, in seconds. */
const MOMENT = 0.05;
/** Who or what began a turn, where that is nobody's name. */
const BEGINNINGS = {
  timer: "A reminder", afterthought: "An afterthought", "tick-due": "Inner life", "self-call": "Goes on by itself",
  "process-ended": "A program ended", woke: "Goes back to it", reminder: "Comes back to it", "inner-began": "Inner life",
  cancel: "Is told to end", "forget-done": "Has forgotten", "delete-done": "Has deleted what it said", wish: "A branch wants something", relayed: "An answer comes",
};

/** What a turn, or something that waits, is called. */
export function title({ heard, entry, id }) {
  const first = entry ?? heard?.[0];
  if (!first) return id === INNER ? "Inner life" : "A turn";
  const { kind, body } = first;
  if (first.forgotten) return "Forgotten";
  if (kind === "inner-message") return fromWithin(heard.map((one) => one.body.sender ?? ""), id);
  return body.name && kind !== "process-ended" ? whoIs(body) : (BEGINNINGS[kind] ?? "A turn");
}

/** `lisbon answers`, `lisbon and krakow answer`, `the conversation asks` */
function fromWithin(senders, id) {
  const [first] = senders;
  if (!first) return "Hears from the core";
  if (first.length < id.length) return `${shortly(first)} asks`;
  const names = [...new Set(senders.map(shortly))];
  if (names.length === 1) return `${names[0]} answers`;
  return names.length === 2 ? `${names.join(" and ")} answer` : `${names.length} branches answer`;
}

/** What stands in the first line of a card. `one`: all belong to one conversation, which need not be named. */
export function headline(node, one) {
  const { id, thread, at, state } = node;
  const opened = one ? null : thread?.opened;
  const hue = parseInt(id.slice(5, 9), 16) % 360 || 0;
  return [
    el("b", {}, title(node)),
    opened?.place && el("span", { className: "place" }, openedPlace(opened)),
    !one && !id.includes(".") && id !== INNER && el("a", { className: "conversation-link", href: `#${id}`, tabIndex: -1, title: `All of ${named(id)}`, style: { "--hue": hue } }, el("i", {}), named(id)),
    state && el("span", { className: "state" }, STATES[state] ?? state),
    el("time", { title: full(at) }, whenExactly(at)),
  ];
}

/** What it took, and how it went. */
export function figures({ seconds: took, spent, process, mood }) {
  return [
    process && el("span", { className: "process" }, process.replaceAll("_", " ")),
    mood && el("span", { className: "chip", dataset: { mood } }, mood),
    took !== null && took !== undefined && el("span", {}, seconds(took)),
    spent.calls > 0 && el("span", {}, several(spent.calls, "call")),
    spent.calls > 0 && el("span", {}, price(spent)),
  ].filter(Boolean);
}

/** One part of a turn; `under` is what it began, if it began something that has parts of its own. */
export function momentView({ part, entry, done, run }, before, under = null) {
  const long = lasted(entry, done ?? run?.ended);
  return el(
    "div",
    { className: before?.part === part ? "moment again" : "moment", dataset: { part, seq: entry.seq, kind: entry.kind } },
    el("span", { className: "part-name" }, el("span", {}, part), long > MOMENT && el("small", {}, seconds(long))),
    el("div", { className: "what" }, under ?? (entry.forgotten ? plainly : (CONTENTS[entry.kind] ?? plainly))(entry, done)),
  );
}

/** How long it took, where it took time. */
function lasted({ kind, at, body }, done) {
  if (kind === "model-call") return body.seconds ?? null;
  return done ? done.at - at : null;
}

const CONTENTS = {
  "model-call": (entry) => (choice(entry.body.text) ? chosen(entry) : thoughtOf(entry.body) && entry.body.outcome !== "failed" ? thinking(entry) : plainly(entry)),
  message: (entry) => spokenWords(entry, "heard"),
  spoken: (entry) => spokenWords(entry, "speech"),
  transition: ({ body }) => sentence("turns to ", el("b", {}, body.to.replaceAll("_", " "))),
  action: (entry, done) => [
    sentence(el("b", {}, entry.body.name), " ", givenIn(entry.body), !done && el("span", { className: "state" }, "at work")),
    done?.body.text && outcome("heard brief", done.body.text),
  ],
  reading: (entry, done) => [
    sentence("reads: ", entry.body.question, el("button", { type: "button", className: "to-reading", tabIndex: -1, dataset: { seq: entry.seq } }, "How it reads")),
    done && sentence(line(done).nodes),
  ],
  plan: ({ body }) => planView(body, false),
  asked: ({ body }) => [body.said?.length ? null : body.text && quote("speech", body.text), ...choices(body)],
  "self-call": ({ body }) => quote("thought", body.text),
  "inner-message": ({ body }) => quote("heard brief", body.sender ? body.text : coreWords(body.text || body.code)),
  "thread-ended": ({ body }) => quote("speech", String(body.result ?? "") || body.status),
};

/** As in the list of all entries. */
function plainly(entry) {
  const { weight, word, nodes, tone } = line(entry);
  const told = sentence(el("span", { className: "word-of-it" }, word), weight === "step" && " ", weight === "step" && nodes);
  return el("div", { className: tone || "" }, told, weight === "event" && nodes);
}

function thinking(entry) {
  return [quote("thought", thoughtOf(entry.body)), opener(entry)];
}

function chosen(entry) {
  const { why, names } = choice(entry.body.text);
  return [why && quote("thought", why), sentence(names.map(chip)), opener(entry)];
}

/** What somebody said; it stands in the conversation, too. */
function spokenWords(entry, manner) {
  const { ts } = entry.body;
  return [
    line(entry).nodes,
    ts && el("button", { type: "button", className: "to-chat aside", tabIndex: -1, title: "Show it in the conversation", "aria-label": "In the chat", dataset: { ts, thread: entry.thread, manner } }, "in the chat"),
  ];
}

const choices = (body) => (body.resumes ? [sentence("puts this aside, and goes back to it later")] : line({ kind: "asked", body: { ...body, text: "" } }).nodes);
const sentence = (...words) => el("p", { className: "sentence" }, words);

function opener({ seq }) {
  return el("button", { type: "button", className: "open aside", tabIndex: -1, dataset: { seq } }, "What the model saw");
}
