// The people that the soul knows, and its notes about each, with their entries. The page is the owner's.

import { el, redraw } from "../base/dom.js";
import { cents, count, full, price, several, when } from "../base/format.js";
import { markup } from "../base/markup.js";
import { avatar, toldPlace } from "../base/names.js";
import { ask } from "../base/request.js";
import { Still } from "../base/still_reading.js";

export class People {
  title = "People";
  about = "Whom the soul knows, and what it knows of each";

  constructor({ onEntry }) {
    this.onEntry = onEntry;
    this.search = el("input", { type: "search", placeholder: "Search people", "aria-label": "Search people", oninput: () => this.render() });
    this.tools = [this.search];
    this.list = el("div", { className: "people-known" });
    this.still = new Still(() => this.refresh());
    this.body = el("div", {}, this.still.node, this.list);
    this.cards = new Map();
  }

  async refresh() {
    const { people, others, more, still_reading: left } = await ask("/console/people");
    if (!people) return;
    this.still.show(left);
    this.people = people;
    this.others = others;
    this.more = more;
    this.render();
    for (const card of this.cards.values()) if (card.node.open) this.load(card);
  }

  render() {
    const looked = this.search.value.trim().toLowerCase();
    const found = (this.people ?? []).filter(({ name }) => name.toLowerCase().includes(looked));
    const shown = found.map((person) => this.card(person).node);
    if (this.others && !looked) shown.push(this.card({ id: "-", name: "Nobody in particular", noted: this.others, known: 0 }).node);
    if (this.more) shown.push(el("p", { className: "note" }, `and ${count(this.more)} more, whom it knows less`));
    const empty = el("p", { className: "empty" }, looked ? "Nobody is called so." : "The soul has met nobody yet.");
    redraw(this.list, ...(shown.length ? shown : [empty]));
  }

  /** One stays the same node, so that it stays open while others change. */
  card(person) {
    const card = this.cards.get(person.id) ?? this.make(person);
    card.head.replaceChildren(...head(person).filter(Boolean));
    return card;
  }

  make({ id }) {
    const card = { id, head: el("summary", {}), box: el("div", { className: "known" }) };
    card.node = el("details", { className: "person", ontoggle: () => card.node.open && this.load(card) }, card.head, card.box);
    this.cards.set(id, card);
    return card;
  }

  async load(card) {
    const told = await ask(`/console/people/${encodeURIComponent(card.id)}`);
    if (!told.notes) return;
    const { known, notes, more } = told;
    redraw(
      card.box,
      ...section("What it knows of them", known.map((one) => this.note(one))),
      ...section("Notes about them", notes.map((one) => this.note(one))),
      ...(more ? [el("p", { className: "note" }, `and ${several(more, "older note")}`)] : []),
      ...(known.length + notes.length ? [] : [el("p", { className: "note" }, "Nothing was learned or noted so far.")]),
    );
  }

  note({ seq, at, text, about, ...where }) {
    return el(
      "li",
      {},
      el("div", { className: "text" }, markup(text)),
      el(
        "p",
        { className: "note" },
        about && `about ${about} · `,
        where.place && [toldPlace(where), " · "],
        el("time", { title: full(at) }, when(at)),
        " · ",
        el("button", { type: "button", className: "link", dataset: { key: seq }, onclick: () => this.onEntry(seq) }, "where it was learned"),
      ),
    );
  }
}

function head(person) {
  const facts = [
    person.threads > 0 && several(person.threads, "thread"),
    person.known > 0 && "known",
    person.noted > 0 && several(person.noted, "note"),
    (person.cost > 0 || person.worth > 0) && price(person, cents),
  ].filter(Boolean);
  return [
    avatar(person),
    el("span", { className: "who" }, el("b", {}, person.name), person.owner && el("span", { className: "chip" }, "owner")),
    el("span", { className: "facts" }, facts.join(" · ")),
    person.at && el("time", { title: full(person.at) }, when(person.at)),
  ];
}

function section(title, notes) {
  return notes.length ? [el("h3", {}, title), el("ul", { className: "notes" }, notes)] : [];
}
