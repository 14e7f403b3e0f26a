// How each kind of entry reads: a word for what happened, and what is worth showing of it.

import { el } from "./dom.js";
import { clockSeconds, count, money, seconds } from "./format.js";
import { markup } from "./markup.js";
import { fruitless, trouble, turnEnd } from "./outcomes.js";
import { manner, sections } from "./sections.js";

const seqs = (list) => (list ?? []).map((seq) => `#${seq}`).join(", ");
const who = (body) => body.name || body.user || "someone";

/**
 * {weight, word, nodes, tone, opens}: weight is "event" for what matters to a reader, "step" for the
 * machinery; tone "dim", "caution" or "trouble"; opens: there is more to see.
 */
export function line(entry) {
  const known = KINDS[entry.kind];
  return known ? known(entry.body, entry) : step(entry.kind, JSON.stringify(entry.body));
}

const step = (word, ...nodes) => ({ weight: "step", word, nodes });
const event = (word, ...nodes) => ({ weight: "event", word, nodes });
const quote = (manner, text) => el("div", { className: manner }, markup(text));

const KINDS = {
  thread: (body) => step("new conversation", body.place ? `in ${body.place}` : ""),
  perception: (body) => perceived(body),
  heard: (body) => ({ ...event(`${who(body)} said before`, quote("heard", said(body))), tone: "dim" }),
  "turn-began": (body) => step("begins a turn", el("b", {}, body.process), ` over ${seqs(body.took)}`),
  "turn-resumed": (body) => step("takes the turn up again", `attempt ${body.attempt}`),
  "turn-ended": ({ outcome }) => ({ ...step(...turnEnd(outcome)), tone: GIVEN_UP.has(outcome) && "trouble" }),
  "model-call": (body) => (fruitless(body) ? warning("has no answer", trouble(body)) : thought(body)),
  transition: (body) => step("turns to", el("span", { className: "chip" }, body.to)),
  mood: (body) => step("is now", el("span", { className: "chip", dataset: { mood: body.mood } }, body.mood)),
  speech: () => step("wants to speak"),
  "speech-started": () => step("begins to speak"),
  spoken: (body) => event("said", quote("speech brief", body.text || "nothing")),
  unsaid: () => step("leaves unsaid what it began to say"),
  watch: (body) =>
    body.answers
      ? step("waits for the answer", `until ${clockSeconds(body.due)}`)
      : step("will come back to it", body.due ? `at ${clockSeconds(body.due)}` : ""),
  text: (body) => step("reads", el("b", {}, body.name)),
  claim: (body, { key }) => step(CLAIMS[key.split(":")[0]] ?? `does only once: ${key}`),
  overheard: ({ whole }) => step("looks for what was said before", whole === false ? "and Slack does not say" : ""),
  woke: ({ after }) => step("wakes up", after === "kill" ? "after it was killed" : ""),
  slept: () => step("is told to stop"),
  beat: ({ turn, seconds: lived }) => step("lives", `with #${turn}, of which it may have died, for ${seconds(lived)}`),
  control: ({ turn }) => step("lives without", `#${turn}: so its last death counts against that one`),
  unbegun: ({ error }) => failed("cannot begin", `${error}. It is tried again.`),
  "caught-up": ({ until, behind }) => step("has read what was said", readUntil(until, Object.keys(behind ?? {}).length)),
  log: (body) => event("remembers an interrupted turn", quote("thought", body.text)),
  action: (body) => step("does", el("b", {}, body.name), ` ${given(body.args)}`),
  observation: (body) => (body.text ? event(`${body.name} gives`, quote("heard", body.text)) : step(`${body.name} is done`)),
  look: ({ seqs: seen }) => step("looks up", `and sees ${seqs(seen)}`),
  asked: (body) => (body.resumes ? step("puts this aside", "and goes back to it later") : asked(body)),
  answered: (body) => answered(body),
  withdrawn: ({ asked: seq }) => step("needs no answer any more", seq ? `to #${seq}` : ""),
  limit: (body) => warning("reaches a limit", limit(body)),
  note: ({ text }) => event("notes", quote("thought", text)),
  person: ({ text }) => event("knows someone better", quote("thought", text)),
  "context-cleared": ({ text }) => event("sums up, and lets the words go", quote("thought", text ?? "")),
  ism: ({ text }) => told(text ?? ""),
  "ism-ended": ({ reason, loops, calls }) =>
    step("ends its run", `${RUNS[reason] ?? reason ?? "done"}, after ${count(loops)} rounds and ${count(calls)} choices`),
  outage: ({ text, failure }) => warning("waits for the model", text ?? failure ?? ""),
  drift: ({ key }) => failed("differs from what is recorded", `What it would ask now is not what stands under ${key}.`),
  failure: ({ at, error, why }) => failed("stumbles", why ?? `${error} at ${at}. The turn is tried again.`),
  fault: ({ text }) => warning("cannot use a text", text, "The last good version stays in use."),
};

/** What reached the soul: a message, a stop, a press, or something that it told itself. */
function perceived(body) {
  if (body.carries) return event("remembers", quote("heard", `what is still unanswered: ${seqs(body.carries)}`));
  if (body.rank === "stop") return event(`${who(body)} stops it`, quote("heard", body.text || STOPPED[body.by] || ""));
  if (body.rank === "answer" && body.address === "press") return event(`${who(body)} presses`, chip(body.text));
  if (body.rank === "resume") return step("goes back to what it put aside");
  if (body.rank === "after") return body.what ? warning("has to tell an owner", body.what) : step("has an afterthought", body.text ?? "");
  return event(`${who(body)} says`, quote("heard", said(body)));
}

function asked(body) {
  const open = body.choices?.length ? body.choices.map(chip) : body.words && el("p", { className: "figures" }, "waits for words");
  return event("asks", body.text && quote("speech", body.text), open);
}

function answered({ value, text, by }) {
  return value || text ? event("has an answer", quote("heard", text || value)) : step("goes on", by ? `after ${by}` : "unanswered");
}

const limit = ({ bound, resets }) =>
  [BOUNDS[bound] ?? bound ?? "a bound", SCOPES[resets] ?? resets].filter(Boolean).join(" ");

/** What a run is told: at first its goal, then what came of each choice. */
function told(text) {
  const goal = /^## Goal\s+(.+)/.exec(text);
  if (goal) return step("sets out", goal[1]);
  const results = [...text.matchAll(RESULT)].map(([, name, found]) => quote("heard brief", `**${name}**: ${found}`));
  return results.length ? event("sees what came of it", results) : event("is told", quote("heard", text));
}

/** The arguments of an action in a line: `query: red fruit`. */
const given = (args) =>
  Object.entries(args ?? {})
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");

const RESULT = /<result of="([^"]+)">\s*([\s\S]*?)\s*<\/result>/g;
const RUNS = {
  done: "its goal reached", finished: "having answered", transition: "going over", interrupted: "stopped",
  loops: "at its last round", stagnation: "going in circles", refused: "refused by the model", failed: "without a readable choice",
  calls: "at a limit", tokens: "at a limit", money: "at a limit", time: "at a limit",
};
/** Model calls that nobody was to read. */
const PRIVATE = new Set(["think", "judge", "choose", "summarize", "learn"]);
const STOPPED = { reaction: "with a 🛑 reaction", button: "with the Stop button" };
const BOUNDS = { calls: "So many calls are enough", tokens: "So many tokens are enough", money: "The money is spent", time: "The time is over", loops: "So many rounds are enough" };
const SCOPES = { turn: "for one turn.", thread: "for this thread.", person: "for this person's day.", day: "for today." };
const GIVEN_UP = new Set(["failed", "abandoned"]);
const CLAIMS = { greeted: "meets someone for the first time", told: "tells of this outage, once" };

const readUntil = (until, behind) => `until ${clockSeconds(until)}${behind ? `, but for ${count(behind)} places` : ""}`;
const chip = (text) => el("span", { className: "chip" }, text);
const plain = (text) => el("p", { className: "plain" }, text);
const warning = (word, ...texts) => ({ ...event(word, ...texts.map(plain)), tone: "caution" });
const failed = (word, text) => ({ ...event(word, plain(text)), tone: "trouble" });
const thought = (body) => ({
  ...event(choice(body.text) ? "chooses" : "thinks", ...answer(body), el("p", { className: "figures" }, figures(body))),
  opens: true,
});

function said(body) {
  const files = (body.files ?? []).map((file) => `⎘ ${file.name ?? file.title ?? file}`);
  return [body.text, ...files].filter(Boolean).join("\n") || "(no text)";
}

/** What the model answered, split into thought, speech and marks. */
export function answer(body) {
  const why = trouble(body);
  return [why && el("p", { className: "outcome" }, why), ...parts(body.text ?? "", body.schema || PRIVATE.has(body.name))];
}

function parts(raw, hidden) {
  const picked = choice(raw);
  if (picked) return [picked.why && el("div", { className: "thought" }, picked.why), ...picked.names.map(chip)];
  if (hidden) return values(raw)?.map(chip) ?? [el("div", { className: "thought" }, raw)];
  return sections(raw).map(({ tag, text }) => {
    const name = tag && el("span", { className: "tag" }, tag);
    const shown = manner(tag, text);
    if (shown === "chip") return el("span", { className: shown, dataset: { mood: text } }, name, " ", text);
    return el("div", { className: shown, dataset: { tag } }, markup(text));
  });
}

/** {why, names} of a choice of actions, else null. */
function choice(raw) {
  try {
    const { why, reasoning, actions } = JSON.parse(raw);
    return { why: why ?? reasoning, names: actions.map(picked) };
  } catch {
    return null;
  }
}

/** A flat answer in JSON: `kind: more`. */
function values(raw) {
  try {
    return Object.entries(JSON.parse(raw)).map(([name, value]) => `${name}: ${value}`);
  } catch {
    return null;
  }
}

const picked = (action) => (typeof action === "string" ? action : `${action.name} ${given(action.args)}`.trim());

function figures(body) {
  const usage = body.usage ?? {};
  const read = (usage.input ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
  return [`${count(read)} → ${count(usage.output)} tokens`, seconds(body.seconds), price(body)].join(" · ");
}

/** What a call cost; where it was rehearsed, what it would have. */
export function price(body) {
  return body.cost > 0 || !body.worth ? money(body.cost) : `${money(0)}, would cost ${money(body.worth)}`;
}
