// Which thread the journal is shown of, and the way to all of them.

import { whoIs } from "./called.js";
import { byId, el } from "./dom.js";
import { oneLine } from "./markup.js";
import { INNER } from "./names.js";
import { openedPlace } from "./place_names.js";
import { ask } from "./reach.js";

/** So far from its beginning the first message of a thread is looked for. */
const NEAR = 10;
const isMessage = ({ kind }) => kind === "message";

export class Scope {
  /** `onAll()`: one wants to see all threads. */
  constructor({ onAll }) {
    this.line = byId("scope");
    this.name = el("span", { className: "name" });
    this.all = el("button", { type: "button", onclick: onAll }, "All threads");
    this.line.append(this.name, this.all);
    this.show({ key: null });
  }

  /** Of this thread, as the journal holds it; of all where it has no key. */
  show(open) {
    this.all.hidden = open.key === null;
    this.name.replaceChildren(...(open.key === null ? ["All threads"] : named(open)));
  }
}

/** `Alice in #general: When is lunch?` */
function named({ id, opened, first }) {
  if (id === INNER) return ["Inner life"];
  if (!first) return ["One thread, in which nothing was said so far"];
  const { where, place } = opened?.body ?? {};
  const there = !place || where === "dm" ? "" : [" in ", openedPlace(opened.body)];
  return [el("b", {}, whoIs(first.body), there), " ", ...oneLine(first.body.text).flat(Infinity)];
}

/** The message that this thread begins with: of the entries that are held, or of its first ones. */
export async function firstOf({ address, entries, older }, opened) {
  if (older === null || !opened) return entries.find(isMessage) ?? null;
  const page = await ask(`${address}?${new URLSearchParams({ after: opened.seq, limit: NEAR })}`);
  return page.entries?.find(isMessage) ?? null;
}
