// How a channel, a private channel, a DM and a group DM are marked and called, wherever one is named.

import { called } from "./called.js";
import { el } from "./dom.js";

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
