// The ends of a long list: load more there, and count new entries for readers further up.

import { atEnd, byId, el } from "./dom.js";
import { count } from "./format.js";

/** So near to an end one must be that it goes on there. */
const NEAR = "600px 0px";

export class Ends {
  /** `onEnd(name)`: one came to the "older" or "newer" end of this list. */
  constructor(list, onEnd) {
    this.onEnd = onEnd;
    const near = (seen) => seen.filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => onEnd(target.dataset.end));
    this.observer = new IntersectionObserver(near, { root: list, rootMargin: NEAR });
  }

  /** What stands at this end; a button for whoever does not scroll. */
  item(name, words, role = null) {
    const button = el("button", { type: "button", tabIndex: -1, onclick: () => this.onEnd(name) }, words);
    const item = el("li", { className: "more", role, dataset: { end: name } }, button);
    this.observer.observe(item);
    return item;
  }

  /** The list is made anew. */
  forget() {
    this.observer.disconnect();
  }
}

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
