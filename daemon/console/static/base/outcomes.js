// Ends of model calls, readings and turns in plain words, unless they simply end well.

import { el } from "./dom.js";
import { spelled } from "./names.js";

const CALLS = {
  cut: "The answer was cut off at its greatest length.",
  refused: "The model refused to answer.",
  "over-budget": "Today's budget is spent; the model was not asked.",
  cancelled: "Somebody stopped it; the connection was closed.",
};

const FAILURES = {
  unreachable: "The model could not be reached.",
  overloaded: "The model is overloaded and did not answer.",
  "rate-limited": "The model did not answer: too many calls for now.",
  unauthorized: "The model did not accept the API key.",
  "no-credit": "The account has no credit left.",
  forbidden: "The API key may not use this model.",
  "unknown-model": "There is no such model for this account.",
  "bad-request": "The model did not accept the request.",
  "too-long": "The request was too long for the model.",
  "broken-stream": "The answer broke off.",
  "server-error": "The model's server failed.",
};

/** The same in a list of counts. */
export const ERRORS = {
  unreachable: "not reached",
  overloaded: "overloaded",
  "rate-limited": "rate limit",
  unauthorized: "key refused",
  "no-credit": "no credit",
  forbidden: "model not allowed",
  "unknown-model": "no such model",
  "bad-request": "request refused",
  "broken-stream": "answer broke off",
  "server-error": "server error",
};

const TURNS = {
  completed: ["ends the turn", ""],
  suspended: ["waits", "for an answer; it goes on when one comes"],
  stopped: ["is stopped", "after it had failed"],
  failed: ["gives the turn up", "it failed too often"],
  abandoned: ["abandons the turn", "nothing more can be done"],
};

const READING_BOUNDS = {
  iterations: "at its bound of rounds",
  calls: "at its bound of calls",
  money: "at its bound of money",
  time: "at its bound of time",
  stuck: "it went in circles",
};
const READINGS = { answered: ["answered", ""], stopped: ["stopped", "somebody stopped it"], failed: ["failed", "no model answered"] };

/** What stands in the way of this call's answer, or null. */
export function trouble({ outcome, failure }) {
  if (!outcome || outcome === "ok") return null;
  if (failure === "too-dear") return "The call may cost more than a whole day may; the model was not asked.";
  if (outcome === "cancelled" && failure === "time") return "The time of the reading was over; the connection was closed.";
  if (outcome === "cancelled" && failure === "gave-way") return "A person had to wait, so that it was broken off; it is made again.";
  if (outcome === "over-budget" && failure) return `The reading is ${READING_BOUNDS[failure] ?? failure}; the model was not asked.`;
  return CALLS[outcome] ?? FAILURES[failure] ?? `The call failed: ${failure || outcome}.`;
}

/** Nothing came of this call: there was no answer, and nothing to pay. */
export function fruitless({ outcome, text }) {
  return outcome === "over-budget" || (!text && (outcome === "failed" || outcome === "cancelled"));
}

/** [what happened, what that means] */
export function turnEnd(outcome) {
  return TURNS[outcome] ?? ["ends the turn", outcome];
}

/** {state, why}: how a reading ended, and what stood in its way. */
export function readingEnd({ reason, answer }) {
  const [state, why] = READINGS[reason] ?? [answer ? "partial" : "no answer", READING_BOUNDS[reason] ?? reason];
  return { state, why };
}

// Arguments and results of actions in plain words.

/** The arguments of an action in a line: `query: red fruit`. */
function given(args) {
  const pairs = Object.entries(args ?? {}).map(([name, value]) => [`${spaced(name)}: `, spelled(inLine(value))]);
  return pairs.flatMap((pair, index) => (index ? [", ", ...pair] : pair));
}

/** The arguments of an entry `action`; a call of a tool has them beside who asked for it. */
export function givenIn({ args }) {
  return isToolCall(args) ? given(args.arguments) : given(args);
}

const isToolCall = (args) => isPair(args?.arguments) && typeof args.digest === "string" && Array.isArray(args.for);

/** A value in a line: what a list or a pair holds is named in its order. */
export function inLine(value) {
  if (Array.isArray(value)) return value.map(inLine).join(", ") || "none";
  if (isPair(value)) return Object.entries(value).map(([name, one]) => `${spaced(name)}: ${inLine(one)}`).join(", ") || "none";
  return word(value);
}

/** What an action gave as names and values, a line each; null where it is a text of its own. */
export function gave(text) {
  const value = parsed(text);
  return value === null ? null : valuesView(value);
}

function parsed(text) {
  if (!/^\s*[[{]/.test(text ?? "")) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function valuesView(value) {
  if (Array.isArray(value)) return value.length ? el("ul", {}, value.map((one) => el("li", {}, valuesView(one)))) : "none";
  if (!isPair(value)) return spelled(word(value));
  const pair = ([name, one]) => el("div", {}, el("dt", {}, spaced(name)), el("dd", {}, valuesView(one)));
  return el("dl", { className: "values" }, Object.entries(value).map(pair));
}

const isPair = (value) => value !== null && typeof value === "object";
const spaced = (name) => name.replaceAll("_", " ");

/** What is empty is seen to be. */
function word(value) {
  if (value === true || value === false) return value ? "yes" : "no";
  return value === null ? "none" : String(value) || '""';
}
