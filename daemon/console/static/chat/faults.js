// The drawer of simulated problems: faults of the rehearsed world, switched on and off.

import { announce, byId, el } from "../base/dom.js";
import { several } from "../base/format.js";
import { ask, Unreachable } from "../base/request.js";

const ADDRESS = "/rehearsal/faults";
/** What only a test has a use for. */
const UNSHOWN = ["seed"];

export class Faults {
  constructor() {
    this.rows = new Map();
    this.toggle = byId("faults-toggle");
    this.toggle.addEventListener("click", () => this.show(!this.open));
    byId("faults-close").addEventListener("click", () => this.show(false));
    byId("faults-off").addEventListener("click", () => this.send({ on: false }));
  }

  get open() {
    return !byId("faults").hidden;
  }

  show(open) {
    byId("faults").hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (!open) return this.toggle.focus();
    byId("faults").focus();
    return this.look();
  }

  async look() {
    this.read(await ask(ADDRESS));
  }

  /** Switch, and see what the world says to it; an objection of its is thrown. */
  async send(asked) {
    const headers = { "Content-Type": "application/json" };
    const answer = await ask(ADDRESS, { method: "POST", headers, body: JSON.stringify(asked) });
    if (!answer.ok) throw new Error(answer.error);
    this.read(answer);
  }

  read({ faults }) {
    if (!this.rows.size) this.build(faults);
    for (const fault of faults) this.rows.get(fault.name).read(fault);
    const lit = faults.filter(({ on }) => on).length;
    this.toggle.hidden = false;
    this.toggle.textContent = lit ? `Simulating ${several(lit, "problem")}` : "Simulate problems";
    this.toggle.classList.toggle("lit", lit > 0);
    byId("faults-off").disabled = !lit;
  }

  build(faults) {
    const whose = [...new Set(faults.map((fault) => fault.of))];
    for (const fault of faults) this.rows.set(fault.name, new Row(fault, (asked) => this.send(asked)));
    const group = (name) => {
      const rows = faults.filter((fault) => fault.of === name).map((fault) => this.rows.get(fault.name).node);
      return el("section", { className: "faults-of" }, el("h3", {}, name), el("ul", {}, rows));
    };
    byId("faults-list").replaceChildren(...whose.map(group));
  }
}

/** One fault: its switch, or a button where it happens once; while it is on, what it was told. */
class Row {
  constructor({ name, line, once, params }, send) {
    const title = name[0].toUpperCase() + name.slice(1).replaceAll("-", " ");
    const switched = () => this.tell(send, { name, on: this.act.checked });
    const happen = () => this.tell(send, { name }).then((done) => done && this.flash(title));
    this.fields = params.filter((param) => !UNSHOWN.includes(param.name)).map((param) => field(param));
    this.act = once
      ? el("button", { type: "button", "aria-label": `${title}, now`, onclick: happen }, "Now")
      : el("input", { type: "checkbox", role: "switch", "aria-label": title, onchange: switched });
    this.told = el("div", { className: "told", hidden: true }, this.fields.map(({ node }) => node));
    this.told.addEventListener("change", () => this.tell(send, { name, ...this.values() }));
    this.struck = el("span", { className: "struck" });
    this.wrong = el("p", { className: "wrong", role: "alert", hidden: true });
    const words = el("span", { className: "words" }, el("b", {}, title, this.struck), el("small", {}, line));
    this.node = el("li", { dataset: { fault: name } }, el(once ? "div" : "label", { className: "act" }, words, this.act), this.told, this.wrong);
  }

  /** What happens once leaves nothing behind that one could see. */
  flash(title) {
    this.node.animate([{ background: "var(--warn-wash)" }, {}], 1200);
    announce(`${title}: done`);
  }

  values() {
    return Object.fromEntries(this.fields.map(({ name, input }) => [name, valueOf(input)]));
  }

  read({ on, once, strikes, params }) {
    this.node.classList.toggle("on", on);
    if (!once) this.act.checked = on;
    this.told.hidden = !on;
    this.struck.textContent = strikes ? `${strikes}×` : "";
    this.wrong.hidden = true;
    for (const { name, input } of this.fields) {
      const { value } = params.find((param) => param.name === name);
      if (input !== document.activeElement) input.value = value || "";
    }
  }

  async tell(send, asked) {
    try {
      await send(asked);
      return true;
    } catch (error) {
      if (error instanceof Unreachable) throw error;
      this.wrong.textContent = error.message;
      this.wrong.hidden = false;
      return false;
    }
  }
}

/** A zero is left empty: it stands for "any number of times", or for "at once". */
function field({ name, of, most, value }) {
  const options = of.map((word) => el("option", { value: word }, word));
  const number = { type: "number", min: 0, max: most, step: "any", placeholder: name === "times" ? "any" : "0" };
  const plain = typeof value === "number" ? number : { type: "text" };
  const input = of.length ? el("select", {}, options) : el("input", plain);
  return { name, input, node: el("label", {}, name, input) };
}

function valueOf(input) {
  return input.type === "number" ? Number(input.value) : input.value;
}
