// The contents of the inner life: notes, programs, diary, concepts, links and notebook, each folded into a line.

import { el } from "../base/dom.js";
import { full, several } from "../base/format.js";
import { moment, SOURCES, statusWord } from "../base/inner_words.js";

/** [its name, what is said beside it, what stands in it] */
const SHELVES = [
  ["Notes", ({ notes }) => counted(notes.counts), ({ notes }) => notes.newest.map(note)],
  ["Diary", ({ records }) => several(records.diary.count, "page"), ({ records }) => records.diary.newest.map(page)],
  ["Concepts", ({ records }) => several(records.concepts.count, "concept"), ({ records }) => records.concepts.newest.map(concept)],
  ["Links", ({ records }) => several(records.links.count, "link"), ({ records }) => records.links.newest.map(link)],
  ["Notebook", ({ records }) => several(records.llm_memory.count, "line"), ({ records }) => records.llm_memory.newest.map(page)],
  ["Programs", ({ processes }) => running(processes), ({ processes }) => processes.map(program)],
];

export class Possessions {
  constructor(place) {
    this.shelves = SHELVES.map(([name, says, holds]) => {
      const note = el("span", { className: "last" });
      const list = el("ul", {});
      const shelf = el("details", { dataset: { shelf: name } }, el("summary", {}, el("b", {}, name), note), list);
      return { shelf, note, list, says, holds };
    });
    place.append(...this.shelves.map(({ shelf }) => shelf));
  }

  show(inner) {
    for (const { shelf, note, list, says, holds } of this.shelves) {
      const items = holds(inner);
      note.textContent = says(inner);
      shelf.classList.toggle("bare", !items.length);
      list.replaceChildren(...items);
    }
  }
}

/** `2 important, 1 low`: those that are still to be looked at. */
function counted(counts) {
  const some = Object.entries(counts).filter(([, count]) => count);
  return some.length ? `to be read: ${some.map(([priority, count]) => `${count} ${priority}`).join(", ")}` : "nothing to be read";
}

function running(processes) {
  const now = processes.filter(({ ended }) => ended === null).length;
  return now ? `${several(now, "program")} running` : "nothing runs";
}

const chip = (text) => el("span", { className: "chip" }, text);
const small = (...words) => el("small", {}, words.filter(Boolean).join(" · "));

function item(at, head, text, ...below) {
  return el("li", { title: full(at) }, head && el("p", {}, head), text && el("p", { className: "text-of-it" }, text), below);
}

function note({ id, at, source, priority, place, tags, states, who, text }) {
  const where = ["mention", "channel"].includes(source) && place ? place : (SOURCES[source] ?? source);
  const marks = [priority !== "normal" && chip(priority), ...tags.map((tag) => chip(`#${tag}`))].filter(Boolean);
  return item(at, [el("b", {}, who || "Somebody"), " ", ...marks], text || "(taken back)", small(`note ${id}`, where, ...states, moment(at)));
}

function page({ id, at, text, tags, pinned, place }) {
  return item(at, tags.length > 0 && tags.map((tag) => chip(`#${tag}`)), text, small(`no. ${id}`, known(place), pinned && "always in sight", moment(at)));
}

function concept({ id, at, name, text, place, pinned }) {
  return item(at, el("b", {}, name), text, small(`no. ${id}`, known(place), pinned && "always in sight", moment(at)));
}

function link({ id, at, ends, text, place }) {
  return item(at, [el("b", {}, ends[0]), ` ${text} `, el("b", {}, ends[1])], "", small(`no. ${id}`, known(place), moment(at)));
}

function program({ id, name, status, began, ended, slots, stopping, result }) {
  const given = Object.entries(slots).map(([slot, value]) => `${slot}: ${value}`).join(", ");
  const state = stopping ? "is being stopped" : statusWord(status);
  return item(began, [el("b", {}, name), " ", chip(state)], given, result && el("pre", {}, result), small(`no. ${id}`, `began ${moment(began)}`, ended && `ended ${moment(ended)}`));
}

const known = (place) => (place ? `from ${place}` : "from public things");
