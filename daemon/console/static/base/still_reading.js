// The entries of a long journal that are still unread after a start: the page shows their number, and asks again.

import { el } from "./dom.js";
import { count } from "./format.js";

/** Milliseconds until it is asked again. */
const AGAIN = 1000;

export class Still {
  constructor(again) {
    this.again = again;
    this.node = el("p", { className: "note still", role: "status", hidden: true });
  }

  /** `left` entries of the journal are not read yet. */
  show(left) {
    clearTimeout(this.due);
    this.node.hidden = !left;
    this.node.textContent = left ? `Still reading the journal: ${count(left)} entries are left. What is shown here is not all yet.` : "";
    if (left) this.due = setTimeout(() => this.node.checkVisibility() && this.again(), AGAIN);
  }
}
