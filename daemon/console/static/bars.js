// A bar for each day, and the line of what a day may cost.

import { el } from "./dom.js";
import { cents, day, several } from "./format.js";

/** `days` is [{day: "2026-11-24", value, calls}], the last one today; `daily` is the budget, in dollars. */
export function dayBars(days, daily) {
  const most = Math.max(...days.map(({ value }) => value), 0);
  const near = daily > 0 && daily <= most * 4; // a line far above would make all bars flat
  const top = Math.max(most, near ? daily : 0) * 1.08 || 1;
  const share = (value) => `${(100 * value) / top}%`;
  const noon = (iso) => Date.parse(`${iso}T12:00:00Z`) / 1000;
  const bar = ({ day: iso, value, calls }, index) =>
    el(
      "li",
      { title: `${day(noon(iso))}: ${cents(value)}, ${several(calls, "call")}`, className: [value > daily && "over", index === days.length - 1 && "today"].filter(Boolean).join(" ") },
      el("i", { style: { height: share(value) } }),
    );
  const dearest = days.reduce((best, one) => (one.value > best.value ? one : best));
  const label = most ? `${days.length} days; the dearest was ${day(noon(dearest.day))} with ${cents(most)}` : "Nothing was spent in these days";
  return el(
    "figure",
    { className: "bars", role: "img", "aria-label": `${label}. A day may cost ${cents(daily)}.` },
    el("div", { className: "plot" }, el("ol", {}, days.map(bar)), near && el("span", { className: "limit", style: { bottom: share(daily) } }, el("small", {}, `budget ${cents(daily)}`)), most > 0 && el("small", { className: "peak", style: { bottom: share(most) } }, cents(most))),
    el("figcaption", {}, el("span", {}, day(noon(days[0].day))), !near && el("span", {}, `A day may cost ${cents(daily)}.`), el("span", {}, "Today")),
  );
}
