// The thread that the journal shows, the way back to all threads, and the search.

import { announce, byId, el } from "../base/dom.js";
import { several } from "../base/format.js";
import { oneLine } from "../base/markup.js";
import { INNER, openedPlace, whoIs } from "../base/names.js";
import { ask } from "../base/request.js";
import { SearchField } from "../base/search_field.js";

/** So far from its beginning the first message of a thread is looked for. */
const NEAR = 10;
const isMessage = ({ kind }) => kind === "message";

export class Scope {
  /** `onAll()`: one wants to see all threads. */
  constructor({ onAll }) {
    this.line = byId("scope");
    this.name = el("span", { className: "name" });
    this.all = el("button", { type: "button", onclick: onAll }, "All threads");
    this.line.append(this.name, this.all);
    this.show({ key: null });
  }

  /** Of this thread, as the journal holds it; of all where it has no key. */
  show(open) {
    this.all.hidden = open.key === null;
    this.name.replaceChildren(...(open.key === null ? ["All threads"] : named(open)));
  }
}

/** `Alice in #general: When is lunch?` */
function named({ id, opened, first }) {
  if (id === INNER) return ["Inner life"];
  if (!first) return ["One thread, in which nothing was said so far"];
  const { where, place } = opened?.body ?? {};
  const there = !place || where === "dm" ? "" : [" in ", openedPlace(opened.body)];
  return [el("b", {}, whoIs(first.body), there), " ", ...oneLine(first.body.text).flat(Infinity)];
}

/** The message that this thread begins with: of the entries that are held, or of its first ones. */
export async function firstOf({ address, entries, older }, opened) {
  if (older === null || !opened) return entries.find(isMessage) ?? null;
  const page = await ask(`${address}?${new URLSearchParams({ after: opened.seq, limit: NEAR })}`);
  return page.entries?.find(isMessage) ?? null;
}

export class Search {
  /** `onSearch(words)`: these are to be found; none: no more. `onLeave()`: what is looked for now is not wanted any
      more. `onEverywhere()`: not in this thread alone. */
  constructor({ onSearch, onLeave, onEverywhere }) {
    this.onSearch = onSearch;
    this.field = byId("words");
    this.count = byId("found");
    this.everywhere = byId("everywhere");
    this.everywhere.addEventListener("click", onEverywhere);
    this.words = "";
    this.typing = new SearchField(this.field, { search: (words) => this.turnTo(words), leave: onLeave });
    byId("search").addEventListener("submit", (event) => event.preventDefault());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.field.value) return;
      event.stopPropagation();
      this.clear();
      this.onSearch("");
    });
  }

  turnTo(words) {
    if (!words && !this.words) return;
    this.words = words;
    this.count.textContent = words && "…";
    return this.onSearch(words);
  }

  /** Nothing is looked for any more. */
  clear() {
    this.words = this.field.value = this.count.textContent = "";
    this.typing.settle();
    return null;
  }

  /** Where it is searched: in the thread that is open, or in all. */
  say(here) {
    const words = here ? "Search this thread" : "Search all threads";
    this.field.placeholder = words;
    this.field.ariaLabel = words;
    this.everywhere.hidden = !here || !this.words;
  }

  /** How much was found so far. */
  tell(found) {
    if (!found) return;
    const { entries, older } = found;
    this.count.textContent = `${several(entries.length, "entry").replace("entrys", "entries")}${older === null ? "" : " so far"}`;
    announce(`${this.count.textContent} found`);
  }

  focus() {
    this.field.focus();
    this.field.select();
  }
}
