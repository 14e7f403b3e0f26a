// How each kind of entry reads: a word for what happened, and what is worth showing of it.

import { el } from "./dom.js";
import { clockSeconds, count, money, seconds } from "./format.js";
import { markup } from "./markup.js";
import { manner, sections } from "./sections.js";

const seqs = (list) => (list ?? []).map((seq) => `#${seq}`).join(", ");
const who = (body) => body.name || body.user || "someone";

/** {weight, word, nodes}: weight is "event" for what matters to a reader, "step" for the machinery. */
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
  heard: (body) => ({ ...event(`${who(body)} said before`, quote("heard", said(body))), dim: true }),
  "turn-began": (body) => step("begins a turn", el("b", {}, body.process), ` over ${seqs(body.took)}`),
  "turn-resumed": (body) => step("takes the turn up again", `attempt ${body.attempt}`),
  "turn-ended": (body) => step("ends the turn", body.outcome === "ended" ? "" : el("b", {}, body.outcome)),
  "model-call": (body) => event("thinks", ...answer(body), el("p", { className: "figures" }, figures(body))),
  transition: (body) => step("turns to", el("span", { className: "chip" }, body.to)),
  mood: (body) => step("is now", el("span", { className: "chip", dataset: { mood: body.mood } }, body.mood)),
  speech: () => step("wants to speak"),
  "speech-started": () => step("begins to speak"),
  spoken: (body) => event("said", quote("speech brief", body.text || "nothing")),
  unsaid: () => step("leaves it unsaid"),
  watch: (body) => step("will come back to it", body.due ? `at ${clockSeconds(body.due)}` : ""),
  text: (body) => step("reads", el("b", {}, body.name)),
  claim: (body, { key }) => step(key.startsWith("greeted:") ? "meets someone for the first time" : `claims ${key}`),
  overheard: () => step("looks for what was said before"),
  log: (body) => event("remembers an interrupted turn", quote("thought", body.text)),
  action: (body) => event(`does ${body.name}`, quote("heard", JSON.stringify(body.args ?? {}))),
  observation: (body) => event(`${body.name} gives`, quote("heard", body.text)),
  drift: (body) => trouble("drift", `What would be asked now differs from what is recorded under ${body.key}.`),
  failure: (body) => trouble("failure", [body.at, body.error].filter(Boolean).join(": ")),
};

const trouble = (word, text) => ({ ...event(word, quote("speech", text)), trouble: true });

function said(body) {
  const files = (body.files ?? []).map((file) => `⎘ ${file.name ?? file.title ?? file}`);
  return [body.text, ...files].filter(Boolean).join("\n") || "(no text)";
}

/** What the model answered, split into thought, speech and marks. */
export function answer(body) {
  if (body.outcome && body.outcome !== "ok") {
    const why = [body.outcome, body.failure].filter(Boolean).join(": ");
    return [el("p", { className: "outcome" }, why), ...parts(body.text ?? "")];
  }
  return parts(body.text ?? "");
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
