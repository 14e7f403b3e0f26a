// Help on the keys, under `?`.

import { el } from "./dom.js";

const KEYS = {
  Anywhere: [
    ["?", "these keys"],
    ["1 … 6", "threads, questions, people, costs, health, tools"],
    ["0", "the chat, where there is a local workspace"],
    ["/", "search what happened, in all threads"],
    ["Esc", "close what lies on top"],
  ],
  "In the journal": [
    ["j  k", "one down, one up"],
    ["g  G", "to the first, to the last"],
    ["Enter", "open a model call, or unfold"],
    ["→  ←", "unfold and fold in a tree"],
  ],
  "In lists and tabs": [
    ["↑  ↓", "from thread to thread"],
    ["Tab", "from part to part"],
  ],
  "While writing": [
    ["Enter", "send"],
    ["Shift Enter", "a new line"],
  ],
};

let dialog = null;

export function showKeys() {
  dialog ??= document.body.appendChild(make());
  if (!dialog.open) dialog.showModal();
}

function make() {
  const pair = ([key, does]) => [el("dt", {}, key.split("  ").map((one) => el("kbd", {}, one))), el("dd", {}, does)];
  const part = ([title, pairs]) => el("section", {}, el("h3", {}, title), el("dl", {}, pairs.map(pair)));
  const close = el("button", { type: "button", onclick: () => dialog.close() }, "Close ", el("kbd", {}, "Esc"));
  const onclick = ({ target }) => target === dialog && dialog.close();
  return el("dialog", { id: "keys", "aria-labelledby": "keys-title", onclick }, el("header", {}, el("h2", { id: "keys-title" }, "Keys"), close), el("div", {}, Object.entries(KEYS).map(part)));
}
