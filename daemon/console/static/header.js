// The header: the soul, the simulated parts of the world, and today's cost.

import { byId, el } from "./base/dom.js";
import { cents, money } from "./base/format.js";
import { standing } from "./base/reports.js";

const SIMULATED = "What the same calls would cost with Claude";

/** Show what GET /console/state says. */
export function showState(state) {
  document.title = `${state.questions ? `(${state.questions}) ` : ""}${state.name}: the soul's console`;
  byId("soul").textContent = state.name;
  const words = unreal(state);
  byId("rehearsed").hidden = !words.length;
  byId("rehearsed").replaceChildren(...words);
  byId("today").replaceChildren(...today(state));
  byId("asked").textContent = state.questions ?? "";
  byId("asked").hidden = !state.questions;
  byId("unwell").hidden = !state.wrong?.length;
  byId("tools-link").hidden = !state.tools;
  byId("tools-wait").textContent = state.tools?.changes ?? "";
  byId("tools-wait").hidden = !state.tools?.changes;
  showWrong(state);
}

/** What an owner is to know. It is read aloud, so the same words are not written anew. */
function showWrong({ wrong = [], reports = [] }) {
  const local = new Map(reports.map((report) => [report.sentence, standing(report)]));
  const words = wrong.map((what) => local.get(what) ?? what).join(" ");
  const place = byId("wrong");
  if (place.textContent !== words) place.textContent = words;
  place.hidden = !words;
  place.classList.toggle("slow", wrong.length > 0 && wrong.length === reports.filter(({ slow }) => slow).length);
}

export function showConnection(up) {
  document.body.classList.toggle("away", !up);
  byId("connection").textContent = up ? "" : "The daemon does not answer. Trying again…";
}

/** A sentence unless people, Slack and Claude are all real. A script never speaks in a real workspace. */
function unreal({ rehearsed, workspace_at, model_at }) {
  const key = (name) => el("code", {}, name);
  if (rehearsed.model) {
    const how = long(" Set ", key("ANTHROPIC_API_KEY"), " for Claude, the Slack tokens for Slack.");
    return ["The workspace is local and the model is a script.", how];
  }
  if (rehearsed.workspace) {
    const model = model_at ? `the model is at ${model_at}` : "Claude is real";
    return [`The workspace is local; ${model}.`, long(" Set the Slack tokens to meet people.")];
  }
  return [
    workspace_at && `The workspace is at ${workspace_at}, not Slack's. `,
    model_at && `The model is at ${model_at}.`,
  ].filter(Boolean);
}

const long = (...words) => el("span", { className: "long" }, words);

function today({ spent, worth, budget }) {
  const share = budget > 0 ? Math.min(1, spent / budget) : 1;
  return [
    worth > spent && el("small", { title: SIMULATED }, `simulated ${cents(worth)}`),
    el("span", {}, "Today ", el("b", {}, money(spent)), el("span", { className: "of" }, ` of ${money(budget)}`)),
    el(
      "div",
      { className: share >= 1 ? "budget spent" : "budget", "aria-hidden": "true" },
      el("span", { style: { width: `${share * 100}%` } }),
    ),
  ].filter(Boolean);
}
