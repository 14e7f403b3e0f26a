// Results of the look-up of the server behind a base URL: a sentence on its list, a table of what its models can do.

import { el } from "./dom.js";
import { count, several, whenExactly } from "./format.js";

const SCHEMAS = { format: "by the server (output_config)", grammar: "by a grammar", prompt: "by the prompt alone" };
const UNKNOWN = "not known yet";

/** Sentences on the server and its list. */
export function serverSentences({ address, is_known: isKnown, listed, why, version, warnings = [] } = {}) {
  if (!address) return [];
  if (!isKnown) return [{ tone: "warn", what: "The model's server has not shown its list yet.", then: `${address} is asked again by itself.` }];
  const program = version === "unknown" ? "" : ` (${version})`;
  const list = listed === null ? `shows no list of models (${why}), so every name is accepted` : listed ? `lists ${several(listed, "model")}` : "lists no model, so every name is accepted";
  return [
    ...warnings.map((then) => ({ tone: "warn", what: "Look at the model's server.", then })),
    { tone: "good", what: "The model's server was looked up.", then: `${address}${program} ${list}.` },
  ];
}

/** A column for each model without a listed price; nothing where there is none. */
export function capabilityTable({ address, models = [] } = {}) {
  const shown = models.filter(({ is_listed: isListed }) => !isListed);
  if (!shown.length) return null;
  const head = el("tr", {}, el("th", { scope: "col" }, "Model"), ...shown.map(({ model }) => el("th", { scope: "col" }, el("code", {}, model))));
  const rows = Object.entries(ROWS).map(([name, told]) => el("tr", {}, el("th", { scope: "row" }, name), ...shown.map((one) => el("td", {}, told(one) ?? open(one)))));
  return el("li", { className: "capabilities" }, el("p", {}, el("b", {}, "What the models can do there"), ` (${address})`), el("div", {}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
}

const open = ({ asks }) => (asks.length ? UNKNOWN : "unclear");
const speed = (tokens) => (tokens ? `${tokens < 10 ? tokens.toFixed(1) : count(Math.round(tokens))} tokens a second` : undefined);
const either = (value, yes, no) => (value === null ? undefined : value ? yes : no);

/** The rows of the table: what stands in each for one model; undefined: nobody knows. */
const ROWS = {
  Window: ({ window }) => (window ? `${count(window)} tokens` : "the server does not say"),
  "Is held to JSON": ({ schema }) => SCHEMAS[schema],
  "Answers in": ({ keeps_sections: keeps }) => either(keeps, "sections, as it was asked to", "plain text: it does not keep sections"),
  "Sees images": ({ images }) => either(images, "yes", "no"),
  Reads: ({ prompt_speed: tokens }) => speed(tokens),
  Writes: ({ answer_speed: tokens }) => speed(tokens),
  "Requests at a time": ({ slots }) => (slots ? count(slots) : "the server does not say"),
  "Asked last": ({ looked_up_at: at }) => (at ? whenExactly(at) : undefined),
};
