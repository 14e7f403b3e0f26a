// What the core tells the soul, which is XML, in plain words.

import { shortly } from "./names.js";

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
