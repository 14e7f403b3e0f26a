// The words of the inner life: names of its ticks, commands and waits.

import { clock, day, several } from "./format.js";

const COMMANDS = /^#\s*(?:commands|команды)\s*:/im;

/** What it thought in a tick, without the commands that stand below. */
export const thoughtIn = (text) => (text ?? "").split(COMMANDS)[0].trim();

/** Outcome of a tick: [in a word, what it does]. */
const TICKS = {
  thought: ["thought", "has thought"],
  repeated: ["nothing new", "said nothing new"],
  waiting: ["waits", "only waits on"],
  failed: ["no answer", "had no answer from the model"],
  refused: ["refused", "was refused by the model"],
  "over-budget": ["money spent", "may spend nothing more today"],
  asleep: ["asleep", "is asleep"],
};
export const tickWord = (outcome) => TICKS[outcome]?.[0] ?? outcome;
export const tickDone = (outcome) => TICKS[outcome]?.[1] ?? outcome;

const REFLEXES = {
  rephrase: "it is to put the question in other words",
  flashback: "it is shown an old page of its diary",
  switch: "it is to take up another task",
  neighbour: "it is to ask a neighbour",
  owner: "it may ask its owner",
  pause: "it rests for a while",
};
export const reflexWords = (reflex) => REFLEXES[reflex] ?? reflex;

const WORDS = {
  help: "asks how a command is written",
  "notes.read": "reads notes",
  "notes.list": "lists its notes",
  "notes.hide": "puts notes aside",
  "notes.tag": "tags notes",
  "notes.mark": "marks notes",
  "diary.add": "writes in its diary",
  "concepts.add": "learns a concept",
  "concepts.neighbours": "looks what a concept is linked to",
  "links.add": "links two concepts",
  "llm_memory.add": "writes in its notebook",
  "process.start": "starts a program",
  "process.stop": "stops a program",
  "process.mark": "puts a program away",
  "process.list": "looks what runs",
  "cleanup.process_log": "clears away old programs",
  "cleanup.responses": "lets go of its own replies",
  "cleanup.notes": "lets go of old notes",
  "cycle.responses": "sets how many of its replies it sees",
  "cycle.mode": "sets how it sees its notes",
  "cycle.filter": "sets which notes it sees",
  "cycle.pause": "sets its pause",
  "cycle.idle": "goes to sleep",
  "message.send": "wants to say something",
  "mesh.ask": "asks a neighbour",
  "mesh.share": "shares with a neighbour",
};
const VERBS = {
  read: "looks at", list: "looks through", search: "searches", change: "rewrites", delete: "strikes from",
  pin: "keeps in sight of", unpin: "puts out of sight of",
};
const FAMILIES = { diary: "its diary", concepts: "its concepts", links: "its links", llm_memory: "its notebook" };

/** What a command does: `writes in its diary`. */
export function commandWords(name) {
  const [family, verb] = name.split(".");
  return WORDS[name] ?? (VERBS[verb] && FAMILIES[family] ? `${VERBS[verb]} ${FAMILIES[family]}` : name);
}

/** What a command is about, in a line. */
export function commandAbout(name, args) {
  if (name === "cycle.idle") return `until ${waitWords(args ?? {})}`;
  if (name === "links.add" && args?.relation) return `${args.from} → ${args.relation} → ${args.to}`;
  if (args?.to && args.text) return `to ${args.to}: ${args.text}`;
  const { text, ids, ...others } = args ?? {};
  const rest = Object.entries(others).filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  const told = rest.length === 1 || (others.name && others.description) ? rest.map(([, value]) => shown(value)).join(": ") : rest.map(([key, value]) => `${key} ${shown(value)}`).join(", ");
  return [ids?.join(", "), text, told].filter(Boolean).join(" · ");
}

const shown = (value) => (typeof value === "object" ? filterWords(value) : String(value));

/** What it waits for, any of it: `an important note comes, or for 1 hour`. */
export function waitWords({ processes, notes, seconds }) {
  const parts = [
    processes?.length && `${processes.length > 1 ? "one of the programs" : "the program"} ${processes.join(", ")} ends`,
    notes && `${filterWords(notes)} comes`,
    seconds && `${span(seconds)} have passed`,
  ];
  return parts.filter(Boolean).join(", or ") || "something happens";
}

/** `a note that is important or more, in #red` */
export function filterWords(filter) {
  const { priority, source, tags } = filter ?? {};
  const kind = { normal: "a note that is not of low priority", important: "an important note", urgent: "an urgent note" }[priority] ?? "any note";
  const from = source && ` from ${SOURCES[source] ?? source}`;
  const tagged = tags?.length && ` with ${tags.map((tag) => `#${tag}`).join(" ")}`;
  return [kind, from, tagged].filter(Boolean).join("");
}

export const SOURCES = {
  dm: "a direct message", mention: "a mention", channel: "a channel", reaction: "a reaction", bot: "a bot", branch: "a branch", process: "a program",
};

export function span(seconds) {
  const [size, unit] = [[86_400, "day"], [3_600, "hour"], [60, "minute"]].find(([size]) => seconds >= size && seconds % size === 0) ?? [1, "second"];
  return several(seconds / size, unit);
}

/** `at 14:20`, with its day where that is not today. */
export const moment = (at, now = Date.now() / 1000) => `${clock(at)}${day(at) === day(now) ? "" : `, ${day(at)}`}`;

const STATUSES = {
  pending: "waits", in_progress: "runs", ok: "went well", warning: "complained", error: "failed",
  timeout: "took too long", offline: "was lost", close: "put away",
};
export const statusWord = (status) => STATUSES[status] ?? status;
export const SAID = {
  said: "what it wanted said was said", declined: "an owner did not want that said",
  unanswered: "no owner answered whether it may be said", refused: "that cannot be said there",
};

/** The seven contexts, by their number. */
export const CONTEXTS = {
  1: "Its own last replies",
  2: "What runs, and what came of its commands",
  3: "Pages that it asked for",
  4: "Notes",
  5: "Settings, the time, and why it thinks now",
  6: "Its notebook",
  7: "What to do if it goes in circles",
};
