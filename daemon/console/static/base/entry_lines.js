// A line for each kind of entry: a word for the event, and the parts of it worth showing.

import { el } from "./dom.js";
import { clockSeconds, count, price, seconds, several } from "./format.js";
import { commandAbout, commandWords, reflexWords, SAID, statusWord, thoughtIn, tickDone } from "./inner_words.js";
import { markup } from "./markup.js";
import { called, openedPlace, shortly, spelled, whoIs } from "./names.js";
import { fruitless, gave, givenIn, inLine, readingEnd, trouble, turnEnd } from "./outcomes.js";
import { checklist, heading, progress } from "./plan.js";
import { coreWords, freely, isOpen, manner, sections } from "./sections.js";

const seqs = (list) => (list ?? []).map((seq) => `#${seq}`).join(", ");

/**
 * {weight, word, nodes, tone, opens}: weight is "event" for what matters to a reader, "step" for the
 * machinery; tone "caution" or "trouble"; opens: there is more to see.
 */
export function line(entry) {
  const known = KINDS[entry.kind];
  const told = known ? known(entry.body, entry) : step(entry.kind, JSON.stringify(entry.body));
  return entry.forgotten ? step(WERE[entry.kind] ?? told.word, FORGOTTEN) : told;
}

/** What stands where words were that are forgotten. */
export const FORGOTTEN = "forgotten";
/** What is not so any more once it is forgotten. */
const WERE = { "turn-ended": "ends the turn", waiting: "waited", asked: "asked", spoken: "said", outage: "waited for the model" };

const step = (word, ...nodes) => ({ weight: "step", word, nodes });
const event = (word, ...nodes) => ({ weight: "event", word, nodes });
export const quote = (manner, text) => el("div", { className: manner }, markup(text));
/** What an action gave: names and values, or a text. */
export const outcome = (manner, text) => el("div", { className: manner }, gave(text) ?? markup(text));

const KINDS = {
  thread: (body) => step("new conversation", body.place ? ["in ", openedPlace(body)] : ""),
  audience: ({ audience }) => step("notes who can read there", audience || "which nobody knows"),
  message: (body) => event([whoIs(body), " says"], quote("heard", said(body))),
  stop: (body) => event([whoIs(body), " stops it"], quote("heard", body.text || STOPPED[body.by] || "")),
  answer: (body) => event([whoIs(body), " presses"], chip(body.text)),
  timer: ({ text }) => event("reminds itself", quote("heard", text)),
  wish: ({ branch, text }) => event(`${branch} wants to say`, quote("heard", text)),
  relayed: ({ by, text, value }) => event("hears what people answered", quote("heard", text || value || (by ? `<@${by}>` : ""))),
  cancel: ({ reason }) => step("is to end", reason),
  woke: () => step("goes back to what it put aside"),
  afterthought: ({ process, params }) =>
    params.what ? warning("has to tell an owner", params.what) : step("has an afterthought", el("b", {}, process)),
  heard: (body) => event([whoIs(body), " said before"], quote("heard", said(body))),
  "turn-began": (body) => step("begins a turn", el("b", {}, body.process), ` over ${seqs(body.inputs)}`),
  "turn-resumed": (body) => step("takes the turn up again", `attempt ${body.attempt}`),
  "turn-ended": ({ outcome }) => ({ ...step(...turnEnd(outcome)), tone: GIVEN_UP.has(outcome) && "trouble" }),
  "model-call": (body) => (fruitless(body) ? warning("has no answer", trouble(body)) : thought(body)),
  transition: (body) => step("turns to", el("span", { className: "chip" }, body.to)),
  form: ({ model }) => step("asks for plain words", model ? el("code", {}, model) : ""),
  mood: (body) => step("is now", el("span", { className: "chip", dataset: { mood: body.mood } }, body.mood)),
  speech: () => step("wants to speak"),
  "speech-started": () => step("begins to speak"),
  spoken: (body) => event("said", quote("speech", body.text || "nothing")),
  unsaid: () => step("leaves unsaid what it began to say"),
  waiting: (body) =>
    body.note ? step("will come back to it", body.due ? `at ${clockSeconds(body.due)}` : "") : step("waits", body.due ? `until ${clockSeconds(body.due)}` : ""),
  text: (body) => step("reads", el("b", {}, body.name)),
  texts: ({ texts }) => step("has in mind", `${Object.keys(texts).length} of the owner's texts`),
  stretch: ({ seqs }) => step("has much in mind", `${seqs.length} entries of it are named as one from here on`),
  claim: (body, { key }) => step(CLAIMS[key.split(":")[0]] ?? `does only once: ${key}`),
  "carried-over": ({ seqs }) => step("knows what was said in this DM", several(seqs.length, "message")),
  gathered: ({ seqs }) => step("sums up what was said in this DM", several(seqs.length, "message")),
  overheard: ({ whole }) => step("looks for what was said before", whole === false ? "and Slack does not say" : ""),
  "life-began": ({ after }) => step("wakes up", after === "kill" ? "after it was killed" : ""),
  "life-ended": () => step("is told to stop"),
  "life-lost": ({ life }) => step("has died on one machine", `in the life #${life}`),
  lived: ({ turn, seconds: lived }) => step("lives", `with #${turn}, of which it may have died, for ${seconds(lived)}`),
  controlled: ({ turn }) => step("lives without", `#${turn}: so its last death counts against that one`),
  clock: () => step("sees that the clock was set right"),
  "look-up-call": ({ model, question }) => step("looks up what a model can do", `${model}: ${question}`),
  "journal-named": ({ id }) => step("names its journal", id),
  "tag-suffix": ({ suffix }) => step("marks the sections of its answers", `with -${suffix}`),
  "server-placed": ({ server, machine }) => step("runs a tool server", `${server} on ${machine}`),
  "tools-listed": ({ server, tools }) => step("knows the tools of a server", `${server}: ${tools.length}`),
  "tool-accepted": ({ tool }) => step("may use a tool that changed or is new", tool),
  "tool-allowed": ({ tool, channel }) => step("may use a tool without asking", `${tool} in ${channel}`),
  "tool-allowance-ended": ({ why }) => step("has to ask before a tool again", why),
  "tool-not-called": ({ tool, code }) => step("does not call a tool", `${tool}: ${code}`),
  "tool-in-doubt": ({ tool, settled }) =>
    step(settled ? "knows what came of a tool" : "does not know what came of a tool", tool),
  "mcp-call": ({ tool, client }) => step("is called by an MCP client", el("b", {}, tool), client ? ` by ${client}` : ""),
  "mcp-call-ended": ({ outcome, characters }) => step("has answered an MCP client", `${outcome}, ${several(characters, "character")}`),
  "channel-moved": ({ old, new: now }) => step("sees that a channel has another id", `${old} is ${now} now`),
  "may-grow": () => step("waits for the end of another bot's message"),
  grown: () => step("has heard another bot's message to its end"),
  "name-taken": ({ user }) => step("sees a name for the first time", user),
  "status-cleared": () => step("shows nothing in Slack any more"),
  "life-cleared": () => step("shows nothing in Slack any more of a daemon that ended"),
  "backfill-asked": ({ died }) => step(died ? "a daemon died: its messages are read" : "messages may be missing: they are read"),
  "last-words": () => failed("ends", "Nothing of it runs again; only its end is told."),
  unbegun: ({ error }) => failed("cannot begin", `${error}. It is tried again.`),
  "caught-up": ({ until, behind }) => step("has read what was said", readUntil(until, Object.keys(behind ?? {}).length)),
  "read-on": ({ channels, threads }) => step("reads what was said", readSoFar(channels ?? {}, Object.values(threads ?? {}))),
  log: (body) => event("remembers an interrupted turn", quote("thought", body.text)),
  card: (body) => step("wants to show its plan", planned(body)),
  "card-shown": (body) => step("shows its plan", planned(body)),
  "card-missed": ({ why }) => step("could not show its plan", why),
  action: (body) => step("does", el("b", {}, body.name), " ", givenIn(body)),
  observation: (body) => (body.text ? event(`${body.name} gives`, outcome("heard", body.text)) : step(`${body.name} is done`)),
  received: ({ inputs }) => step("looks up", `and sees ${seqs(inputs)}`),
  asked: (body) => (body.resumes ? step("puts this aside", "and goes back to it later") : asked(body)),
  answered: (body) => answered(body),
  withdrawn: (_, { closes }) => step("needs no answer any more", closes?.length ? `to ${seqs(closes)}` : ""),
  limit: (body) => warning("reaches a limit", limit(body)),
  remembered: ({ text }) => event("notes", quote("thought", text)),
  person: ({ text }) => event("knows someone better", quote("thought", text)),
  "context-cleared": ({ text, kept }) =>
    text ? event("sums up, and lets the words go", quote("thought", text)) : step("lets words go", `all but the last ${kept}`),
  "prompt-shortened": ({ model, left_out: gone, longest, refused }) =>
    step(
      refused ? `was too long for ${model}` : `keeps below what ${model} takes`,
      `${several(gone.length, "part")} left out${longest ? `, long ones cut to ${longest} characters` : ""}`,
    ),
  "self-call": ({ text }) => event("says to itself", quote("thought", text)),
  "inner-message": (body, { thread }) =>
    event(inward(body, thread), marks(body), quote("heard", body.sender ? body.text : coreWords(body.text || body.code))),
  "system-message": ({ text }) => step("is told by the core", coreWords(text)),
  plan: (body) => event("plans", plain(planned(body)), checklist(body.steps)),
  ism: ({ text }) => told(text),
  "ism-ended": ({ reason, calls }) => step("ends its run", `${RUNS[reason] ?? reason}, after ${several(calls, "choice")}`),
  outage: ({ reason, due }) => warning("waits for the model", down(reason), `It is tried again at ${clockSeconds(due)} at the latest.`),
  "outage-ended": ({ gave_up: gaveUp }) => step(gaveUp ? "waits no longer for the model" : "can reach the model again"),
  "given-up": ({ reason }) => failed("gives up", down(reason)),
  restarted: ({ why }) => warning("begins again, with its log", why),
  "thread-spawned": ({ thread }) => step("begins a branch", shortly(thread)),
  "thread-ended": ({ status, result }) => (result && status === "completed" ? event("answers", quote("speech", String(result))) : step("ends this branch", status)),
  sent: ({ to, delivered }) => step(delivered ? "sends on" : "could not send on", `to ${shortly(to)}`),
  undeliverable: () => step("cannot be delivered any more"),
  "attempt-failed": ({ at, error, final }) => failed("stumbles", `${error} at ${at}. The turn is ${final ? "given up" : "tried again"}.`),
  result: ({ value }) => step("keeps what it found", inLine(value ?? "")),
  intent: ({ name }) => step("does", el("b", {}, name)),
  outcome: ({ unknown }) => step("is done", unknown ? "or not: it was interrupted" : ""),
  reminder: () => step("comes back to it"),
  fault: ({ text, instead }) => warning("cannot use a text", text, INSTEAD[instead ?? "kept"]),
  reading: ({ question, depth }) => ({ ...event(depth ? "reads a part by itself" : "begins to read", quote("heard brief", question)), reads: true }),
  cell: ({ code }) => step("runs a cell", code.trim().split("\n")[0]),
  "cell-ran": ({ text, failed }) => ({ ...step(failed ? "sees the cell fail" : "sees what came of it", text), tone: failed && "caution" }),
  noticed: (body) => event([whoIs(body), " says, not to it"], quote("heard", said(body))),
  reaction: (body) => step([whoIs(body), body.removed ? " takes back" : " reacts with"], `:${body.emoji}:`),
  "inner-began": () => step("has an inner life from here on"),
  "tick-due": ({ why }) => step("is to think again", why),
  command: ({ name, args, ok, text }) => (ok ? step(commandWords(name), commandAbout(name, args)) : warning(`${commandWords(name)}, in vain`, text)),
  tick: (body) => tick(body),
  "notes-shown": ({ seqs: shown }) => step("shows what is noted about them", several(shown.length, "note")),
  corrected: ({ text }) => event("is put right about someone", quote("thought", text)),
  "to-forget": ({ seqs: which }) => step("is to forget", which?.length ? several(which.length, "note") : "all that there is of someone"),
  forgotten: ({ seqs: gone, why }) => step("forgets", [several(gone.length, "entry").replace("entrys", "entries"), why].filter(Boolean).join(": ")),
  erased: () => step("has nothing of it left in its journal"),
  "forget-done": () => step("has forgotten, and is to say so"),
  "to-delete": () => step("is to delete what it said in a DM"),
  "deletion-listed": ({ messages, whole }) => step("lists what it is to delete", `${several(messages.length, "message")}${whole === false ? ", and there may be more" : ""}`),
  "deleted-some": (body) => step("deletes from Slack", deletion(body)),
  "delete-done": (body) => step("has deleted what it said, and is to say so", deletion(body)),
  "process-started": ({ name }) => step("starts a program", el("b", {}, name)),
  "tool-wanted": ({ tool }) => step("wants to use a tool, and has an owner asked", el("b", {}, tool)),
  "tool-errand": ({ text }) => event("its inner life wants to use a tool that somebody has to approve", el("b", {}, text)),
  "process-stop": ({ process }) => step("wants a program to end", `#${process}`),
  "process-placed": ({ process, machine }) => step("runs a program on", el("b", {}, machine), `#${process}`),
  "process-ended": ({ name, status, result }) => event(`its program ${name} ${statusWord(status)}`, quote("heard brief", result)),
  "to-say": ({ text, leave }) => event(leave ? "wants to say, if an owner agrees" : "wants to say of its own accord", quote("speech", text)),
  "said-out": ({ outcome }) => step("hears what became of it", SAID[outcome] ?? outcome),
  "reading-ended": (body) => (body.reason === "unreadable" ? step("could read nothing", body.answer) : step("has read", readingTold(body))),
};

const deletion = ({ deleted, left, why }) => `${several(deleted, "message")}${left ? `; ${left} could not be (${why})` : ""}`;

function tick(body) {
  const made = body.commands?.length ? several(body.commands.length, "command") : "";
  const told = step(tickDone(body.outcome), [body.outcome === "asleep" && body.why, body.reflex && reflexWords(body.reflex), made].filter(Boolean).join(", "));
  return { ...told, tone: ["failed", "refused", "over-budget"].includes(body.outcome) && "caution" };
}

/** Its buttons stand in the chat and under Questions: here they are words, and nothing to press. */
function asked({ text, choices, labels, words }) {
  const buttons = choices?.map((choice, index) => labels?.[index] || choice) ?? [];
  const waits = buttons.length ? `its buttons: ${buttons.join(", ")}` : words && "waits for words";
  return event("asks", text && quote("speech", text), waits && el("p", { className: "figures" }, waits));
}

function answered({ value, text, by }) {
  return value || text ? event("has an answer", quote("heard", text || value)) : step("goes on", by ? ["after ", called(by)] : "unanswered");
}

const planned = (plan) => `${progress(plan)} ${heading(plan)}`;

const marks = ({ sender, status, code }) => [sender, status, code].filter(Boolean).map(chip);

/** From whom a word of the tree came: what the core says, what a branch came to, what stands above. */
function inward({ sender, status }, thread) {
  if (!sender) return "hears from the core";
  if (thread.startsWith(`${sender}.`)) return "is asked from above";
  if (!sender.startsWith("sess-")) return `${sender} gives`;
  return status && status !== "completed" ? `${shortly(sender)} ended: ${status}` : `${shortly(sender)} answers`;
}

const limit = ({ bound, resets }) =>
  [BOUNDS[bound] ?? bound ?? "a bound", SCOPES[resets] ?? resets].filter(Boolean).join(" ");

/** What a run is told: at first its goal, then what came of each choice. */
function told(text) {
  const goal = /^## Goal\s+(.+)/.exec(text);
  if (goal) return step("sets out", goal[1]);
  const results = [...text.matchAll(RESULT)].map(([, name, found]) => cameOf(name, found.trim()));
  return results.length ? event("sees what came of it", results) : event("is told", quote("heard", text));
}

/** What came of one choice. */
function cameOf(name, found) {
  const values = gave(found);
  return values ? el("div", { className: "heard brief" }, el("strong", {}, name), values) : quote("heard brief", `**${name}**: ${found}`);
}

const RESULT = /<result of="([^"]+)">([\s\S]*?)<\/result>/g;
const RUNS = {
  done: "its goal reached", finished: "having answered", transition: "going over", interrupted: "stopped",
  loops: "at its last round", stagnation: "going in circles", refused: "refused by the model", failed: "without a readable choice",
  calls: "at a limit", tokens: "at a limit", money: "at a limit", time: "at a limit",
};
/** Model calls that nobody was to read. */
const PRIVATE = new Set(["compare", "think", "judge", "choose", "choose_tool", "summarize", "learn"]);
/** Model calls of a reading, and of the inner life. */
const READS = { compare: "compares it with what it said before", recurse: "reads on", read: "reads it in one call", llm_query: "reads a piece", extract: "says what it knows by now" };
const STOPPED = { reaction: "with a 🛑 reaction", button: "with the Stop button" };
const BOUNDS = { calls: "So many calls are enough", tokens: "So many tokens are enough", money: "The money is spent", time: "The time is over", loops: "So many rounds are enough" };
const SCOPES = { turn: "for one turn.", thread: "for this thread.", reading: "for one reading.", person: "for this person's day.", day: "for today." };
/** What is in use where a text of the owner's cannot be. */
const INSTEAD = { kept: "The last good version stays in use.", "left out": "It is left out until then.", "as it is": "What it names in vain is left out." };
const GIVEN_UP = new Set(["failed", "abandoned"]);
const CLAIMS = { greeted: "meets someone for the first time", told: "tells of this outage, once" };

const readUntil = (until, behind) => `until ${clockSeconds(until)}${behind ? `, but for ${count(behind)} places` : ""}`;
const readSoFar = (channels, threads) =>
  `${several(Object.keys(channels).length, "place")}, ${several(threads.flatMap(Object.keys).length, "thread")}`;
const down = (reason) => trouble({ outcome: "failed", failure: reason });
export const chip = (text) => el("span", { className: "chip" }, spelled(String(text)));
const plain = (text) => el("p", { className: "plain" }, text);
const warning = (word, ...texts) => ({ ...event(word, ...texts.map(plain)), tone: "caution" });
const failed = (word, text) => ({ ...event(word, plain(text)), tone: "trouble" });
/** A call, without what was said of it: that has an entry of its own. */
function thought(body) {
  const told = answer(body, false);
  const word = READS[(body.reading || body.name === "compare") && body.name] ?? (choice(body.text) ? "chooses" : told.length ? "thinks" : "answers");
  return { ...event(word, ...told, el("p", { className: "figures" }, figures(body))), opens: true };
}

/** `answered in part, at its bound of calls: 3 rounds, 30 calls` */
function readingTold(body) {
  const { state, why } = readingEnd(body);
  const told = state === "partial" ? "answered in part" : state;
  const took = [body.iterations && several(body.iterations, "round"), body.calls && several(body.calls, "call")].filter(Boolean);
  return [[told, why].filter(Boolean).join(", "), took.join(", ")].filter(Boolean).join(": ");
}

function said(body) {
  const files = (body.files ?? []).map((file) => `📎 ${file.name ?? file.title ?? file}`);
  return [body.text, ...files].filter(Boolean).join("\n") || "(no text)";
}

/** What the model answered, split into thought, speech and marks. What is `aloud` may have an entry of its own. */
export function answer(body, aloud = true) {
  const why = trouble(body);
  if (body.name === "tick") return [why && el("p", { className: "outcome" }, why), quote("thought", thoughtIn(body.text))];
  if (body.reading) return [why && el("p", { className: "outcome" }, why), body.text && quote("thought", body.text)];
  const said = isOpen(body) ? openly(body.text, aloud) : parts(body.text ?? "", body.schema || PRIVATE.has(body.name), aloud);
  return [why && el("p", { className: "outcome" }, why), ...said].filter(Boolean);
}

/** Of an answer in open thought its free words and the final answer: all else in it has entries of its own. */
function openly(raw, aloud) {
  const final = aloud ? sections(raw).filter(({ tag }) => tag.endsWith("-response")) : [];
  const free = freely(raw);
  return [free && quote("thought", free), ...final.map(({ text }) => quote("speech", text))];
}

function parts(raw, hidden, aloud) {
  const picked = choice(raw);
  if (picked) return [picked.why && quote("thought", picked.why), ...picked.names.map(chip)];
  if (hidden) return values(raw)?.map(chip) ?? [el("div", { className: "thought" }, spelled(raw))];
  return sections(raw).map(({ tag, text }) => {
    const name = tag && el("span", { className: "tag" }, tag);
    const shown = manner(tag, text);
    if (shown === "speech" && !aloud) return null;
    if (shown === "chip") return el("span", { className: shown, dataset: { mood: text } }, name, " ", text);
    return el("div", { className: shown, dataset: { tag } }, markup(text));
  });
}

/** {why, names} of a choice of actions, else null. */
export function choice(raw) {
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
    return Object.entries(JSON.parse(raw)).map(([name, value]) => `${name}: ${inLine(value)}`);
  } catch {
    return null;
  }
}

/** An action that was chosen, and what with: `research query: red fruit`. */
function picked(action) {
  if (typeof action === "string") return action;
  return Object.keys(action.args ?? {}).length ? `${action.name} ${inLine(action.args)}` : action.name;
}

function figures(body) {
  const usage = body.usage ?? {};
  const read = (usage.input ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
  return [`${count(read)} → ${count(usage.output)} tokens`, seconds(body.seconds), price(body)].join(" · ");
}
