// Where one writes what is to be found in the journal, and where it is said how much was.

import { announce, byId } from "./dom.js";
import { several } from "./format.js";
import { SearchField } from "./search_field.js";

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
