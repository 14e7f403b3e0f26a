// A plan on top of its thread: until what it holds, how far it is, and its steps. One may fold it.

import { checklist } from "./checklist.js";
import { el } from "./dom.js";

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
