// A plan as a checklist, on its card in the workspace and above its thread in the journal.

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

const done = ({ steps }) => steps.filter(([, state]) => state === "done").length;

/** How many steps are done, of how many: `2/3`. */
export const progress = (plan) => `${done(plan)}/${plan.steps.length}`;

/** Its title, which people see above it; its condition if the soul gave it none. */
export const heading = (plan) => plan.title || plan.condition;

/** `open`: are its steps shown? */
export function planView(plan, open) {
  const share = done(plan) / (plan.steps.length || 1);
  return el(
    "details",
    { className: "plan", open },
    el(
      "summary",
      {},
      el("b", {}, "Plan"),
      el("span", { className: "until", title: plan.condition }, heading(plan)),
      el("span", { className: "progress" }, progress(plan)),
    ),
    el("div", { className: "bar", "aria-hidden": "true" }, el("i", { style: { width: `${100 * share}%` } })),
    checklist(plan.steps),
  );
}
