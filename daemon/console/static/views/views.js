// The views beside the chat, in its place: threads, questions, people, costs, health, tools. Each has a link, `#people`.

import { byId } from "../base/dom.js";
import { Costs } from "./costs.js";
import { Health } from "./health.js";
import { People } from "./people.js";
import { Questions } from "./questions.js";
import { Threads } from "./threads.js";
import { Tools } from "./tools.js";

/** A burst of entries asks for one look. */
const PAUSE = 700;

export class Views {
  /** `onThread(id)` and `onEntry(seq)` are asked to show one in the journal; `onClose()` hears that the chat is back. */
  constructor({ onThread, onEntry }) {
    const open = { onThread, onEntry };
    this.known = {
      threads: new Threads(open),
      questions: new Questions(open),
      people: new People(open),
      costs: new Costs(open),
      health: new Health(open),
      tools: new Tools(open),
    };
    this.current = null;
    this.due = 0;
  }

  has(name) {
    return Object.hasOwn(this.known, name);
  }

  open(name) {
    history.replaceState(null, "", `#${name}`);
    return this.show(name);
  }

  /** Beside what the address says: that stays, and a page that is loaded anew opens it again. */
  show(name) {
    const view = this.known[name];
    document.body.dataset.view = name;
    this.current = view;
    byId("view-title").textContent = view.title;
    byId("view-about").textContent = view.about;
    byId("view-tools").replaceChildren(...view.tools);
    byId("view-body").replaceChildren(view.body);
    byId("view-body").scrollTop = 0;
    this.mark(name);
    return view.refresh();
  }

  /** The chat is shown again. */
  close() {
    delete document.body.dataset.view;
    this.current = null;
    this.mark(null);
  }

  mark(name) {
    for (const link of byId("views").querySelectorAll("a")) {
      if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** Something was written: what is shown is looked at again, once for many. */
  hear() {
    if (!this.current || this.due) return;
    this.due = setTimeout(() => {
      this.due = 0;
      if (!document.hidden) this.current?.refresh();
    }, PAUSE);
  }
}
