// How much is new at the end of a list, for whoever is further up: a button that leads there.

import { atEnd, byId } from "./dom.js";
import { count } from "./format.js";

export class News {
  /** `id` names the button. */
  constructor({ onPress, id = "news" }) {
    this.button = byId(id);
    this.count = 0;
    this.list = null;
    this.button.addEventListener("click", onPress);
    this.atEnd = () => this.count && atEnd(this.list) && !this.list.querySelector("[data-end='newer']") && this.clear();
  }

  /** This is the list that is in sight. */
  watch(list) {
    this.list?.removeEventListener("scroll", this.atEnd);
    this.list = list;
    list.addEventListener("scroll", this.atEnd);
    this.clear();
  }

  add(more) {
    this.count += more;
    this.show();
  }

  clear() {
    this.count = 0;
    this.show();
  }

  show() {
    this.button.hidden = !this.count;
    this.button.textContent = `${count(this.count)} new ↓`;
  }
}
