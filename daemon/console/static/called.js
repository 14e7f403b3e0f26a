// What people and channels are called, for their ids: the daemon is asked when one is met first, of many at once.

import { el } from "./dom.js";
import { ask } from "./reach.js";

/** Who goes by no name: nobody reads ids. */
const NOBODY = "someone";
const NOWHERE = "a channel";
const MOST = 50;
const MENTION = /<@([A-Z0-9]+)(?:\|[^<>]*)?>/;
/** A name that is none: who could not be asked for theirs was written down by their id. */
const ID = /^[UWB][A-Z0-9]{6,}$/;
/** The ids that the daemon can be asked about: one that is none would spoil the answer about all others. */
const ASKABLE = /^[A-Z0-9]{2,20}$/;

const names = new Map();
/** What waits for a name, by id: it is given that. */
const waiting = new Map();
let due = 0;

/** These are their names, {id: name}. */
export function learn(told) {
  for (const [id, name] of Object.entries(told)) {
    if (!name || ID.test(name)) continue;
    names.set(id, name);
    settle(id, name);
  }
}

/** The name of whoever has this id, as a node: it stands there as soon as it is known. */
export function called(id, sign = "", nobody = NOBODY) {
  const node = el("span", {}, `${sign}…`);
  const write = (name) => void (node.textContent = name ? `${sign}${name}` : nobody);
  if (names.has(id)) write(names.get(id));
  else if (ASKABLE.test(id)) wait(id, write);
  else write("");
  return node;
}

/** Who is mentioned by this id: `@Alice`. */
export const mention = (id) => mentioned(called(id, "@"));

/** The channel of this id: `#general`. */
export const channel = (id) => mentioned(called(id, "", NOWHERE));

/** Who is told of in this body of an entry, as a node or a text. */
export function whoIs({ name, user }) {
  if (name && !ID.test(name)) return name;
  return user ? called(user) : NOBODY;
}

/** A text in which people are mentioned by their names; it has no other marks. */
export function spelled(text) {
  return text.split(MENTION).map((part, index) => (index % 2 ? mention(part) : part));
}

function mentioned(node) {
  node.className = "mention";
  return node;
}

function wait(id, write) {
  waiting.set(id, [...(waiting.get(id) ?? []), write]);
  due ||= setTimeout(inquire);
}

async function inquire() {
  due = 0;
  const ids = [...waiting.keys()].slice(0, MOST);
  if (!ids.length) return; // an entry that came meanwhile has named them
  const told = await ask(`/console/names?${new URLSearchParams({ of: ids.join(",") })}`);
  learn(told.names ?? {});
  for (const id of ids) settle(id, "");
  if (waiting.size) due ||= setTimeout(inquire);
}

function settle(id, name) {
  for (const write of waiting.get(id) ?? []) write(name);
  waiting.delete(id);
}
