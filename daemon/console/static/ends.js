// The two ends of a list that is longer than what the page holds: it goes on there as one comes near.

import { el } from "./dom.js";

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
