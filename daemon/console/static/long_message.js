// A long message shows how it begins, and a button shows all of it.

import { el } from "./dom.js";
import { count } from "./format.js";

/** What has more lines or characters is folded. */
const LINES = 40;
const LETTERS = 4_000;

/** The messages, by channel and ts, that somebody unfolded, or saw being written. */
const unfolded = new Set();

/** The words of a message, folded where they are long; a message that is being written stays whole. */
export function folded({ ts, text = "", streaming }, channel, words) {
  const id = `${channel}:${ts}`;
  if (streaming) unfolded.add(id);
  const lines = text.split("\n").length;
  if (lines <= LINES && text.length <= LETTERS) return [words];
  const all = lines > LINES ? `Show all ${count(lines)} lines` : `Show all ${count(text.length)} characters`;
  const button = el("button", { type: "button", className: "show-all", onclick: () => turn(!unfolded.has(id)) });
  function turn(open) {
    unfolded[open ? "add" : "delete"](id);
    words.classList.toggle("folded", !open);
    button.textContent = open ? "Show less" : all;
    button.ariaExpanded = String(open);
  }
  turn(unfolded.has(id));
  return [words, !streaming && button];
}
