// The tour without a key: steps as chips above the composer. A click says the words of a step as its person.

import { byId, el } from "../base/dom.js";
import { ask } from "../base/request.js";
import { request } from "../base/session.js";

const ADDRESS = "/rehearsal/tour";
const HIDDEN = "tour-hidden";
const END = "That was the whole tour. “Tour” at the top opens it again.";

export class Tour {
  constructor(workspace) {
    this.workspace = workspace;
    this.box = byId("tour");
    this.over = byId("tour-over");
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
    this.show(!this.finished && !localStorage.getItem(HIDDEN));
  }

  get finished() {
    return this.stops.every(({ done }) => done);
  }

  /** Its words name the soul, which is called otherwise now. */
  forget() {
    this.stops = null;
  }

  show(open) {
    this.set(open);
    if (open) localStorage.removeItem(HIDDEN);
    else localStorage.setItem(HIDDEN, "yes");
  }

  set(open) {
    this.box.hidden = !open;
    this.over.hidden = true;
    this.toggle.setAttribute("aria-expanded", String(open));
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
      el("span", { className: "name" }, stop.title),
    );
  }

  look(stop) {
    this.watched = stop;
    this.tell();
  }

  tell() {
    const done = this.stops.filter((stop) => stop.done).length;
    this.count.textContent = done ? `${done} of ${this.stops.length} tried` : "Press one, and watch";
    this.box.classList.toggle("begun", done > 0);
    for (const [number, [stop, chip]] of [...this.chips].entries()) {
      chip.classList.toggle("done", stop.done);
      chip.classList.toggle("watched", stop === this.watched);
      chip.classList.toggle("next", stop === this.next() && !stop.done);
      chip.querySelector(".tick").textContent = stop.done ? "✓" : `${number + 1}`;
    }
    const { title, words, watch } = this.watched;
    this.watch.replaceChildren(el("b", {}, title), " ", el("q", {}, words), " ", watch);
  }

  /** The last stop was tried: it closes by itself; a line says what to watch for, and how to open it again. */
  finish() {
    const close = el("button", { type: "button", onclick: () => this.leave() }, "Close");
    this.over.replaceChildren(el("span", {}, this.watched.watch, " ", el("b", {}, END)), close);
    this.set(false);
    this.over.hidden = false;
  }

  /** The line was read. */
  leave() {
    this.over.hidden = true;
  }

  /** Say it, where and as whom it is said. */
  async play(stop) {
    if (this.busy) return;
    this.busy = true;
    this.look(stop);
    try {
      await this.workspace.say(this.person, stop.place, stop.words, await attached(stop.file));
      const news = !stop.done;
      stop.done = true;
      this.tell();
      if (news && this.finished) this.finish();
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
