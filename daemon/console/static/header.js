// The header: who is here, what of the world is rehearsed, and what was spent today.

import { byId, el } from "./dom.js";
import { money } from "./format.js";

/** Show what GET /console/state says. */
export function showState(state) {
  document.title = `${state.name}: the soul's console`;
  byId("soul").textContent = state.name;
  const words = rehearsed(state.rehearsed);
  byId("rehearsed").hidden = !words;
  byId("rehearsed").replaceChildren(...(words ?? []));
  byId("today").replaceChildren(...today(state));
}

export function showConnection(up) {
  byId("connection").textContent = up ? "" : "The daemon does not answer. Trying again…";
}

function rehearsed({ workspace, model }) {
  const key = (name) => el("code", {}, name);
  if (workspace && model) {
    const how = long(" Set ", key("ANTHROPIC_API_KEY"), " for Claude, the Slack tokens for Slack.");
    return ["The workspace is local and the model is a script.", how];
  }
  if (workspace) return ["The workspace is local; Claude is real.", long(" Set the Slack tokens to meet people.")];
  if (model) return ["The model is a script.", long(" Set ", key("ANTHROPIC_API_KEY"), " for Claude.")];
  return null;
}

const long = (...words) => el("span", { className: "long" }, words);

function today({ spent, worth, budget }) {
  const share = budget > 0 ? Math.min(1, spent / budget) : 1;
  return [
    worth > spent && el("small", {}, `would have cost ${money(worth)}`),
    el("span", {}, "Today ", el("b", {}, money(spent)), ` of ${money(budget)}`),
    el(
      "div",
      { className: share >= 1 ? "budget spent" : "budget", "aria-hidden": "true" },
      el("span", { style: { width: `${share * 100}%` } }),
    ),
  ].filter(Boolean);
}
