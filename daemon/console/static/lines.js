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
  perception: (body) =>
    body.carries
      ? event("remembers", quote("heard", `what is still unanswered: ${seqs(body.carries)}`))
      : event(`${who(body)} says`, quote("heard", said(body))),
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
  watch: (body) => step("will come back to it", body.due ? `at ${clockSeconds(body.due)}` : ""),
  text: (body) => step("reads", el("b", {}, body.name)),
  claim: (body, { key }) => step(CLAIMS[key.split(":")[0]] ?? `does only once: ${key}`),
  overheard: () => step("looks for what was said before"),
  "caught-up": ({ until, behind }) => step("has read what was said", readUntil(until, Object.keys(behind ?? {}).length)),
  log: (body) => event("remembers an interrupted turn", quote("thought", body.text)),
  action: (body) => event(`does ${body.name}`, quote("heard", JSON.stringify(body.args ?? {}))),
  observation: (body) => event(`${body.name} gives`, quote("heard", body.text)),
  drift: ({ key }) => failed("differs from what is recorded", `What it would ask now is not what stands under ${key}.`),
  failure: ({ at, error }) => failed("stumbles", `${error} at ${at}. The turn is tried again.`),
  fault: ({ text }) => warning("cannot use a text", text, "The last good version stays in use."),
};

const GIVEN_UP = new Set(["failed", "abandoned"]);
const CLAIMS = { greeted: "meets someone for the first time", told: "tells of this outage, once" };

const readUntil = (until, behind) => `until ${clockSeconds(until)}${behind ? `, but for ${count(behind)} places` : ""}`;
const plain = (text) => el("p", { className: "plain" }, text);
const warning = (word, ...texts) => ({ ...event(word, ...texts.map(plain)), tone: "caution" });
const failed = (word, text) => ({ ...event(word, plain(text)), tone: "trouble" });
const thought = (body) => ({
  ...event("thinks", ...answer(body), el("p", { className: "figures" }, figures(body))),
  opens: true,
});

function said(body) {
  const files = (body.files ?? []).map((file) => `⎘ ${file.name ?? file.title ?? file}`);
  return [body.text, ...files].filter(Boolean).join("\n") || "(no text)";
}

/** What the model answered, split into thought, speech and marks. */
export function answer(body) {
  const why = trouble(body);
  return [why && el("p", { className: "outcome" }, why), ...parts(body.text ?? "")];
}

function parts(raw) {
  return sections(raw).map(({ tag, text }) => {
    const name = tag && el("span", { className: "tag" }, tag);
    const shown = manner(tag, text);
    if (shown === "chip") return el("span", { className: shown, dataset: { mood: text } }, name, " ", text);
    return el("div", { className: shown, dataset: { tag } }, markup(text));
  });
}

function figures(body) {
  const usage = body.usage ?? {};
  const read = (usage.input ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
  return [`${count(read)} → ${count(usage.output)} tokens`, seconds(body.seconds), price(body)].join(" · ");
}

/** What a call cost; where it was rehearsed, what it would have. */
export function price(body) {
  return body.cost > 0 || !body.worth ? money(body.cost) : `${money(0)}, would cost ${money(body.worth)}`;
}
