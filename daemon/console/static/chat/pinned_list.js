// A list that stays at its end through every late change of layout, unless its reader scrolled up.

/** So near to its end, in pixels, somebody reads the end. */
const NEAR = 40;

export class PinnedList {
  /** `on`: it stays at its end. */
  constructor(box) {
    this.box = box;
    this.on = true;
    this.top = box.scrollTop;
    this.sizes = new ResizeObserver(() => this.on && this.toEnd());
    this.sizes.observe(box);
    const changed = (changes) => changes.forEach(({ addedNodes, removedNodes }) => this.watch(addedNodes, removedNodes));
    new MutationObserver(changed).observe(box, { childList: true });
    box.addEventListener("scroll", () => this.look());
    box.addEventListener("click", ({ target }) => target.closest("[aria-expanded]") && this.letGo()); // one reads what unfolds
  }

  /** What stands in the list may grow later: an image that loads, a font, an answer that is written. */
  watch(added, removed) {
    for (const node of removed) if (node instanceof Element) this.sizes.unobserve(node);
    for (const node of added) if (node instanceof Element) this.sizes.observe(node, { box: "border-box" });
  }

  /** Only a reader scrolls up; all else that moves the end away leaves the list where it was, or moves it down. */
  look() {
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.on = true;
    else if (scrollTop < this.top) this.on = false;
    this.top = scrollTop;
  }

  toEnd() {
    this.on = true;
    this.box.scrollTop = this.box.scrollHeight;
    this.top = this.box.scrollTop;
  }

  /** The list was scrolled to a place in it, where it is to stay. */
  letGo() {
    this.on = false;
    this.look();
  }
}
