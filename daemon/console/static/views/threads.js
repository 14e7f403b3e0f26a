// All conversations, the latest first, with search by words, person, channel, process and fault.

import { announce, el, redraw } from "../base/dom.js";
import { FORGOTTEN } from "../base/entry_lines.js";
import { cents, full, price, several, when } from "../base/format.js";
import { oneLine } from "../base/markup.js";
import { avatar, toldPlace } from "../base/names.js";
import { ask } from "../base/request.js";
import { SearchField } from "../base/search_field.js";
import { Still } from "../base/still_reading.js";
import { Unread } from "./unread.js";

const PAGE = 40;
const MOST = 200;
/** Names that stand in a row besides that of who asked. */
const FEW = 3;
const STATES = { "": "Any", unread: "Unread", waits: "Waiting", failed: "Failed" };
const STEPS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
/** The process that one need not be told of. */
const ORDINARY = "conversation";
const NOTHING = {
  "": "Nobody has spoken to the soul yet.",
  unread: "You have seen everything.",
  waits: "Nobody is asked anything.",
  failed: "Nothing went wrong.",
};

export class Threads {
  title = "Threads";
  about = "Every conversation, the latest first";

  constructor({ onThread }) {
    this.onThread = onThread;
    this.unread = new Unread();
    this.state = "";
    this.shown = [];
    this.older = null;
    this.asked = 0;
    this.words = el("input", { type: "search", placeholder: "Search threads", "aria-label": "Search threads" });
    new SearchField(this.words, { search: () => this.begin() });
    this.person = this.choice("Everybody", "Person");
    this.channel = this.choice("Everywhere", "Channel");
    this.process = this.choice("Any process", "Process");
    this.list = el("ol", { className: "threads", "aria-label": "Threads; the arrow keys move, Enter opens one", onkeydown: (event) => this.onKey(event) });
    this.end = el("button", { type: "button", className: "more", hidden: true, onclick: () => this.further() }, "Older threads");
    this.tools = [this.words, el("div", { className: "choices" }, this.person, this.channel, this.process), this.states()];
    this.still = new Still(() => this.refresh());
    this.body = el("div", {}, this.still.node, this.list, this.end);
    new IntersectionObserver(([seen]) => seen.isIntersecting && this.further(), { rootMargin: "400px" }).observe(this.end);
  }

  choice(all, label) {
    return el("select", { "aria-label": label, onchange: () => this.begin() }, el("option", { value: "" }, all));
  }

  states() {
    const one = ([value, label]) =>
      el(
        "label",
        {},
        el("input", { type: "radio", name: "state", value, checked: value === this.state, onchange: () => this.turnTo(value) }),
        el("span", {}, label),
      );
    return el("div", { className: "segments", role: "radiogroup", "aria-label": "Which threads" }, Object.entries(STATES).map(one));
  }

  /** Is it only part of them that is asked for? */
  get looked() {
    return Boolean(this.words.value.trim() || this.person.value || this.channel.value || this.process.value);
  }

  turnTo(state) {
    this.state = state;
    return this.begin();
  }

  begin() {
    this.shown = [];
    return this.refresh();
  }

  /** Look again at as many as are shown. */
  async refresh() {
    const asked = ++this.asked;
    const page = await this.page({ limit: Math.min(MOST, Math.max(PAGE, this.shown.length)) });
    if (asked !== this.asked || !page.threads) return;
    this.still.show(page.still_reading);
    this.offer(page.choices);
    if (!this.looked && !this.state && page.threads.length) this.unread.begin(page.threads[0].last);
    this.shown = page.threads;
    this.older = page.older;
    if (this.state === "unread") await this.allUnread(asked);
    if (asked === this.asked) this.render();
  }

  /** What one has not seen stands before all that one has seen once: until there it is looked for. */
  async allUnread(asked) {
    while (this.older !== null && this.older > this.unread.from && asked === this.asked) await this.add();
    this.shown = this.shown.filter((thread) => this.unread.is(thread));
    if (asked === this.asked) this.older = null;
  }

  async further() {
    if (this.older === null || this.busy) return;
    const { asked } = this;
    this.busy = true;
    try {
      await this.add();
      if (asked === this.asked) this.render();
    } finally {
      this.busy = false;
    }
  }

  async add() {
    const { asked } = this;
    const page = await this.page({ limit: PAGE, before: this.older });
    if (asked !== this.asked) return;
    this.shown.push(...page.threads);
    this.older = page.older;
  }

  page(place) {
    const state = this.state === "unread" ? "" : this.state;
    const given = { words: this.words.value.trim(), person: this.person.value, channel: this.channel.value, process: this.process.value, state, ...place };
    const asked = Object.entries(given).filter(([, value]) => value !== "");
    return ask(`/console/threads?${new URLSearchParams(asked)}`);
  }

  offer({ people, channels, processes }) {
    fill(this.person, Object.entries(people));
    fill(this.channel, Object.entries(channels));
    fill(this.process, processes.map((name) => [name, spaced(name)]));
  }

  render() {
    const rows = this.shown.map((thread) => el("li", {}, this.row(thread)));
    const empty = el("li", { className: "empty" }, this.looked ? "No thread is like that." : NOTHING[this.state]);
    redraw(this.list, ...(rows.length ? rows : [empty]));
    this.end.hidden = this.older === null;
  }

  row(thread) {
    const open = document.body.dataset.thread === thread.thread;
    if (open) this.unread.see(thread);
    const unread = this.unread.is(thread);
    const { asker } = thread;
    return el(
      "button",
      {
        type: "button",
        className: unread ? "row unread" : "row",
        dataset: { key: thread.thread },
        "aria-current": open ? "true" : null,
        onclick: () => this.open(thread),
      },
      asker ? avatar(asker) : avatar({ id: "soul", name: " " }, { soul: true }),
      el(
        "span",
        { className: "what" },
        el("span", { className: "who" }, ...speakers(thread), el("span", { className: "where" }, toldPlace(thread, "Direct message"))),
        began(thread),
        thread.said && el("span", { className: "said" }, oneLine(thread.said)),
        el("span", { className: "facts" }, facts(thread)),
      ),
      el("time", { title: full(thread.at) }, when(thread.at)),
      unread && el("span", { className: "unseen" }, " (new)"),
    );
  }

  open(thread) {
    this.unread.see(thread);
    document.body.dataset.thread = thread.thread;
    this.render();
    announce(`The journal shows ${thread.place}`);
    this.onThread(thread.thread);
  }

  onKey(event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const rows = [...this.list.querySelectorAll(".row")];
    const there = rows.indexOf(event.target.closest(".row")) + step;
    rows[Math.max(0, Math.min(rows.length - 1, there))]?.focus();
  }
}

/** Who asked, and who else spoke to the soul: no more than a few names, all of them for whoever points at it. */
function speakers({ asker, people, forgotten }) {
  const others = people.filter(({ id }) => id !== asker?.id).map(({ name }) => name);
  const named = others.length > FEW ? [...others.slice(0, FEW - 1), several(others.length - FEW + 1, "other")] : others;
  const did = asker ? "asked" : forgotten ? "took part" : "spoke first";
  const rest = named.length ? `${did}; ${sentence(named)} joined` : did;
  return [el("b", {}, asker?.name ?? (forgotten ? "Somebody" : "The soul")), el("span", { className: "joined", title: others.length > FEW ? sentence(others) : null }, rest)];
}

const sentence = (names) => new Intl.ListFormat("en").format(names);

/** The words that it began with. */
function began({ began, forgotten }) {
  if (forgotten) return el("span", { className: "began gone" }, FORGOTTEN);
  return el("span", { className: "began" }, began ? oneLine(began) : "The soul spoke first.");
}

/** What is to be known of it at a glance. */
function facts(thread) {
  const asked = thread.waits.map(({ names, you }) => chip(you ? "waits for you" : `waits for ${list(names)}`, "waits"));
  return [
    thread.thinks && chip("thinks", "thinks"),
    asked,
    thread.failed && chip("failed", "failed"),
    thread.process && thread.process !== ORDINARY && chip(spaced(thread.process)),
    el("span", {}, several(thread.turns, "turn")),
    (thread.cost > 0 || thread.worth > 0) && el("span", {}, price(thread, cents)),
  ];
}

const chip = (text, tone = "") => el("span", { className: ["chip", tone].filter(Boolean).join(" ") }, text);
const list = (people) => people.map(({ name }) => name).join(" or ") || "an answer";
const spaced = (name) => name.replaceAll("_", " ");

/** The choices of a select; what is chosen stays so. */
function fill(select, pairs) {
  const { value } = select;
  select.replaceChildren(select.options[0], ...pairs.map(([id, name]) => el("option", { value: id }, name)));
  select.value = pairs.some(([id]) => id === value) ? value : "";
  select.hidden = pairs.length < 2;
}
