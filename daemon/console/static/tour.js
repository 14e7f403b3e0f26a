// The tour without a key: what one may try, as chips above the composer. A click says its words as its person.

import { byId, el } from "./dom.js";
import { ask } from "./reach.js";
import { request } from "./session.js";

const ADDRESS = "/rehearsal/tour";
const HIDDEN = "tour-hidden";

export class Tour {
  constructor(workspace) {
    this.workspace = workspace;
    this.box = byId("tour");
    this.toggle = byId("tour-toggle");
    this.toggle.addEventListener("click", () => this.show(this.box.hidden));
  }

  /** Offer it, once; `inner`: is there an inner life to be seen? */
  async offer({ inner }) {
    if (this.stops) return;
    const { person, stops } = await ask(ADDRESS);
    if (!stops || this.stops) return; // this world has none, or it is offered already
    this.person = person;
    this.stops = stops.filter((stop) => inner || !stop.inner);
    this.watched = this.next();
    this.build();
    this.toggle.hidden = false;
    this.show(!localStorage.getItem(HIDDEN));
  }

  /** Its words name the soul, which is called otherwise now. */
  forget() {
    this.stops = null;
  }

  show(open) {
    this.box.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (open) localStorage.removeItem(HIDDEN);
    else localStorage.setItem(HIDDEN, "yes");
  }

  next() {
    return this.stops.find(({ done }) => !done) ?? this.stops.at(-1);
  }

  build() {
    this.count = el("p", { className: "count" });
    this.watch = el("p", { id: "tour-watch", role: "status" });
    this.chips = new Map(this.stops.map((stop) => [stop, this.chip(stop)]));
    const onclick = () => (this.show(false), this.toggle.focus());
    const head = el(
      "header",
      {},
      el("h3", {}, "A tour of two minutes"),
      this.count,
      el("button", { type: "button", className: "hide", onclick }, "Hide"),
    );
    this.box.replaceChildren(head, el("div", { className: "chips" }, [...this.chips.values()]), this.watch);
    this.tell();
  }

  chip(stop) {
    const look = () => this.look(stop);
    return el(
      "button",
      { type: "button", title: stop.words, "aria-describedby": "tour-watch", onclick: () => this.play(stop), onfocus: look, onmouseenter: look },
      el("span", { className: "tick", "aria-hidden": "true" }),
      stop.title,
    );
  }

  look(stop) {
    this.watched = stop;
    this.tell();
  }

  tell() {
    const done = this.stops.filter((stop) => stop.done).length;
    this.count.textContent = done ? `${done} of ${this.stops.length} tried` : "Click one, and watch";
    for (const [stop, chip] of this.chips) {
      chip.classList.toggle("done", stop.done);
      chip.classList.toggle("watched", stop === this.watched);
      chip.classList.toggle("next", stop === this.next() && !stop.done);
      chip.querySelector(".tick").textContent = stop.done ? "✓" : "";
    }
    this.watch.replaceChildren(el("q", {}, this.watched.words), " ", this.watched.watch);
  }

  /** Say it, where and as whom it is said. */
  async play(stop) {
    if (this.busy) return;
    this.busy = true;
    this.look(stop);
    try {
      await this.workspace.say(this.person, stop.place, stop.words, await attached(stop.file));
      stop.done = true;
      this.tell();
    } catch (error) {
      this.watch.textContent = `This was not said: ${error.message}.`;
    } finally {
      this.busy = false;
    }
  }
}

/** The sample file that goes with it. */
async function attached(name) {
  if (!name) return [];
  const answer = await request(`${ADDRESS}/${name}`);
  if (!answer.ok) throw new Error(`${name} is not there`);
  return [new File([await answer.blob()], name, { type: "text/plain" })];
}
