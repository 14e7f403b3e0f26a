// Names and values: what an action is given, and what it gave, as people read them.

import { spelled } from "./called.js";
import { el } from "./dom.js";

/** The arguments of an action in a line: `query: red fruit`. */
export function given(args) {
  const pairs = Object.entries(args ?? {}).map(([name, value]) => [`${spaced(name)}: `, spelled(inLine(value))]);
  return pairs.flatMap((pair, index) => (index ? [", ", ...pair] : pair));
}

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
