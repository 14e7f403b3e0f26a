// Costs of the soul: each day beside its budget, and by thread, person and model.

import { el, redraw } from "../base/dom.js";
import { FORGOTTEN } from "../base/entry_lines.js";
import { cents, count, day, money, several } from "../base/format.js";
import { oneLine } from "../base/markup.js";
import { toldPlace } from "../base/names.js";
import { ask } from "../base/request.js";
import { Still } from "../base/still_reading.js";

const SPANS = { 7: "7 days", 30: "30 days", 90: "90 days", 365: "A year" };

export class Costs {
  title = "Costs";
  about = "By day (UTC), thread, person and model";

  constructor({ onThread }) {
    this.onThread = onThread;
    this.days = 30;
    this.body = el("div", { className: "costs" });
    this.still = new Still(() => this.refresh());
    const one = ([days, label]) =>
      el(
        "label",
        {},
        el("input", { type: "radio", name: "days", value: days, checked: Number(days) === this.days, onchange: () => this.turnTo(Number(days)) }),
        el("span", {}, label),
      );
    this.tools = [el("div", { className: "segments", role: "radiogroup", "aria-label": "How far back" }, Object.entries(SPANS).map(one))];
  }

  turnTo(days) {
    this.days = days;
    return this.refresh();
  }

  async refresh() {
    const told = await ask(`/console/costs?days=${this.days}`);
    if (!told.days || told.days.length !== this.days) return;
    this.still.show(told.still_reading);
    const rehearsed = told.whole.cost === 0 && told.whole.worth > 0;
    const of = (spent) => (rehearsed ? spent.worth : spent.cost);
    const priced = rehearsed && el("p", { className: "note" }, "The model is a script, and free. The simulated cost is what the same calls would cost with Claude.");
    redraw(
      this.body,
      this.still.node,
      el("div", { className: "sums" }, sums(told, of, rehearsed)),
      ...(priced ? [priced] : []),
      dayBars(told.days.map((day) => ({ day: day.day, value: of(day), calls: day.calls })), told.daily),
      table("Threads", told.threads, of, (thread) => this.thread(thread)),
      table("People", told.people, of, ({ id, name }) => (id ? name : "Nobody: its own thoughts")),
      table("Models", told.models, of, ({ name }) => name),
    );
  }

  thread({ thread, began, forgotten, ...where }) {
    const said = forgotten ? FORGOTTEN : began && oneLine(began);
    const words = [el("b", {}, where.place ? toldPlace(where) : "A thread"), said && [" ", said]];
    return el("button", { type: "button", className: "link", dataset: { key: thread }, onclick: () => this.onThread(thread) }, words);
  }
}

function sums({ whole, days, daily }, of, rehearsed) {
  const today = days.at(-1);
  const read = whole.read + whole.cached;
  return [
    sum(rehearsed ? "simulated cost, all these days" : "spent in these days", cents(of(whole))),
    rehearsed && sum("simulated cost today", cents(today.worth)),
    sum(`spent today, of ${money(daily)}`, rehearsed ? money(today.cost) : cents(today.cost)),
    sum("model calls", count(whole.calls)),
    sum("of the prompts came from the cache", read ? `${Math.round((100 * whole.cached) / read)} %` : "–"),
  ].filter(Boolean);
}

const sum = (label, figure) => el("p", {}, el("b", {}, figure), el("span", {}, label));

function table(title, rows, of, name) {
  const most = Math.max(...rows.map(of), 0) || 1;
  const row = (one) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name(one), el("span", { className: "share", "aria-hidden": "true" }, el("i", { style: { width: `${(100 * of(one)) / most}%` } }))),
      el("td", {}, several(one.calls, "call")),
      el("td", {}, cents(of(one))),
    );
  const empty = el("tr", {}, el("td", {}, "Nothing was spent in this time."));
  return el("table", {}, el("caption", {}, title), el("tbody", {}, rows.length ? rows.map(row) : empty));
}

// A bar for each day, and a line for the daily budget.

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
