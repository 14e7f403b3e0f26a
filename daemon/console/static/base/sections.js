// A model's raw answer, split at its tags, whatever their names.

import { shortly } from "./names.js";

const GIVEN = `(?:\\s+[\\w:-]+="[^"]*")*\\s*`;
const tagged = (name) => new RegExp(`<(${name})${GIVEN}(?:/>|>([\\s\\S]*?)(?:</\\1\\s*>|$))`, "gi");
const SECTION = tagged("[a-z][\\w-]{0,40}");
/** A section of the soul's own, whose tag has the suffix of its installation: `<say-k7>`. */
const MARKED = tagged("(?:aside|say|mood|next|learned)-[a-z]\\d");

/**
 * [{tag, text}]; text outside of any tag has the tag "". An unclosed section goes to the end. Where a section's tag
 * has the suffix, all others are words.
 */
export function sections(raw) {
  const found = [];
  let end = 0;
  const add = (tag, text = "") => text.trim() && found.push({ tag, text: text.trim() });
  const marked = [...raw.matchAll(MARKED)];
  for (const match of marked.length ? marked : raw.matchAll(SECTION)) {
    add("", raw.slice(end, match.index));
    add(marked.length ? match[1].split("-")[0].toLowerCase() : match[1], match[2]);
    end = match.index + match[0].length;
  }
  add("", raw.slice(end));
  return found;
}

/** How a section is shown: what is spoken stands out, what is private steps back, one word is a chip. */
export function manner(tag, text) {
  if (tag === "say" || tag === "" || tag.endsWith("-response")) return "speech";
  return /^\w+$/.test(text) ? "chip" : "thought";
}

/** Was this call a step of open thought? Then its answer may hold several messages. */
export const isOpen = ({ name }) => name === "deliberate";

/** What of an answer in open thought nobody was asked to do or to read: its free words. */
export function freely(raw) {
  const free = sections(raw).filter(({ tag }) => tag === "" || tag === "thought");
  return free.map(({ text }) => text).join("\n\n");
}

/** What of any other answer was private. */
export function privately(raw) {
  const hidden = sections(raw).filter(({ tag, text }) => manner(tag, text) === "thought");
  return hidden.map(({ text }) => text).join("\n\n");
}

// Messages of the core to the soul, which are XML, in plain words.

const WORDS = {
  "system-note": ({ text }) => text,
  "system-thread-error": ({ unknown_id: unknown, id, code, message }) =>
    code === "thread_ended" ? `${shortly(id)} has ended` : [unknown, message ?? code].filter(Boolean).join(": "),
  huh: ({ text, repaired, unknown_tag: unknown }) => (unknown ? text : `${repaired ? "mended" : "could not read"}: ${text}`),
  budget: ({ bound, of, percent, used, limit }) =>
    bound && `${percent} percent of the ${bound} of this ${of} are used: ${used} of ${limit}`,
  sent: ({ to }) => `sent to ${shortly(to)}`,
  "fan-out-started": ({ total }) => `${total} branches begin beside each other`,
  "thread-cancelled": ({ id }) => `${shortly(id)} is cancelled`,
  "context-cleared": ({ kept_messages: kept }) => `the last ${kept} messages stay in sight`,
  "timer-set": ({ label, id, seconds }) => `a timer in ${seconds} s: ${label || id}`,
  "timer-fired": ({ label, id }) => `the time has come: ${label || id}`,
  "timer-cancelled": ({ label, id }) => `the timer is cancelled: ${label || id}`,
};

/** Its words; what is not known here stays as it is. */
export function coreWords(raw) {
  const read = new DOMParser().parseFromString(`<core>${raw}</core>`, "application/xml");
  if (read.querySelector("parsererror")) return raw;
  const said = [...read.documentElement.children].map((node) => (node.tagName === "fan-out-complete" ? collected(node) : worded(node)));
  return said.length && said.every((text) => text !== null) ? said.join("\n") : raw;
}

function worded(node) {
  const given = Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value]));
  return WORDS[node.tagName]?.({ ...given, text: node.textContent.trim() }) ?? null;
}

/** A list of what all the branches came to, in their order. */
function collected(node) {
  const results = [...node.children].map((one) =>
    one.tagName === "result" ? one.textContent.trim() : `nothing: ${one.getAttribute("reason")}`,
  );
  const { total, successful } = Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value]));
  return [`${successful} of ${total} branches have an answer:`, ...results.map((text, index) => `${index + 1}. ${text}`)].join("\n");
}
