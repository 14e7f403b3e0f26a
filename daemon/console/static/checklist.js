// A plan as a list that is ticked off: on its card in the workspace, and in the journal.

import { el } from "./dom.js";
import { markup } from "./markup.js";

/** What a line of a card begins with, and how that step stands. */
const STATES = { "✓": "done", "○": "open", "✕": "cancelled" };

/** `steps` are [text or nodes, state]; any other state than those three has no mark. */
export function checklist(steps) {
  return el("ul", { className: "checklist" }, steps.map(([text, state]) => el("li", { dataset: { state } }, el("span", {}, text))));
}

/** The lines of a section as such a list, or null if they are none. */
export function ticked(text, words) {
  const lines = text.split("\n");
  if (!(lines[0][0] in STATES)) return null;
  return checklist(lines.map((line) => [markup(STATES[line[0]] ? line.slice(2) : line, words), STATES[line[0]] ?? "more"]));
}
