// Names of threads, people, channels and conversations, and the avatars of people.

import { el } from "./dom.js";
import { ask } from "./request.js";

/** The thread of the inner life: the one that is no conversation. */
export const INNER = "sess-inner";
const SESSION = /^sess-[^.]+/;

/** The last name of a branch; a root has none. */
export function shortly(id) {
  return SESSION.test(id ?? "") ? id.split(".").slice(1).at(-1) ?? "the conversation" : (id ?? "");
}

/** A thread as it stands beside an entry. */
export const named = (id) => (id === INNER ? "inner life" : id.replace("sess-", ""));

/** The thread that this one is a branch of, or null. */
export function above(id) {
  return id.includes(".") ? id.slice(0, id.lastIndexOf(".")) : null;
}

export function rootOf(id) {
  return id.split(".")[0];
}

/** Is this thread that one, or under it? */
export function isUnder(id, root) {
  return id === root || id.startsWith(`${root}.`);
}

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

export function avatar(member, { soul = false, small = false } = {}) {
  const hue = [...member.id].reduce((sum, letter) => sum + 7 * letter.charCodeAt(0), 0) % 360;
  const className = ["avatar", soul && "soul", small && "small"].filter(Boolean).join(" ");
  return el("span", { className, style: { "--hue": hue }, "aria-hidden": "true" }, member.name[0]);
}

const GROUP = "Group DM";

/** The sign of a private channel. */
export const lock = () => el("span", { className: "lock", role: "img", "aria-label": "Private channel" });

/** The name of a place of the chat, with its sign: `{kind, label}`, its kind as in workspace.js. */
export function chatPlace({ kind, label }) {
  if (kind === "private") return [lock(), label];
  return [kind === "channel" ? `# ${label}` : label];
}

/** The same of a place of the journal, as the server names it: `{where, place, private}`. */
export function toldPlace({ where, place, private: hidden }, direct = place) {
  const name = where === "dm" ? direct : place;
  return el("span", {}, hidden && lock(), hidden ? name.replace(/^#/, "") : name);
}

/** The same of the place that a conversation was opened in, as its first entry tells it. */
export function openedPlace({ where, place, channel, audience }) {
  if (where === "group" && channel) return called(channel, "", GROUP);
  const name = place.replace(/^in /, "");
  return audience === "private" ? toldPlace({ where, place: name, private: true }) : el("span", {}, name);
}
