// Files of a message: chosen or dropped, shown as chips, and removed before it is sent.

import { announce, el } from "../base/dom.js";
import { bytes } from "../base/format.js";

export const MOST = 10;

/** What was added and not sent: the files of each place and each thread, while the page is open. */
const added = new Map();

/** Where something is held now that may be dropped. */
let held = null;

export class Attachments {
  /** `onWrong(sentence)` hears what cannot be added; `onWrite()` is called when one would go on writing. */
  constructor({ onWrong, onWrite }) {
    this.onWrong = onWrong;
    this.onWrite = onWrite;
    this.picker = el("input", { type: "file", multiple: true, hidden: true, onchange: () => this.onPick() });
    this.button = el(
      "button",
      { type: "button", className: "add-file", title: "Or drop files here", onclick: () => this.picker.click() },
      "Add file",
    );
    this.chips = el("ul", { className: "chips", "aria-label": "Files to be sent", hidden: true });
  }

  get files() {
    return added.get(this.place) ?? [];
  }

  /** Add to what goes there from now on, and show what waits there. */
  turnTo(place) {
    this.place = place;
    this.show();
  }

  onPick() {
    this.add([...this.picker.files]);
    this.picker.value = ""; // or the same file could not be chosen again
    this.button.focus();
  }

  add(files) {
    const all = [...this.files, ...files];
    if (all.length > MOST) this.onWrong(`At most ${MOST} files go with one message.`);
    added.set(this.place, all.slice(0, MOST));
    this.show();
    if (files.length) announce(`Added: ${files.map(({ name }) => name).join(", ")}`);
  }

  remove(index) {
    added.set(this.place, this.files.filter((_, other) => other !== index));
    this.show();
    const left = this.chips.querySelectorAll("button");
    if (left.length) left[Math.min(index, left.length - 1)].focus();
    else this.onWrite();
  }

  /** All of them, to be sent; none waits any more. */
  take() {
    const { files } = this;
    added.delete(this.place);
    this.show();
    return files;
  }

  /** They could not be sent, and wait there again. */
  giveBack(place, files) {
    added.set(place, [...files, ...(added.get(place) ?? [])].slice(0, MOST));
    this.show();
  }

  show() {
    this.chips.hidden = !this.files.length;
    this.chips.replaceChildren(...this.files.map((file, index) => this.chip(file, index)));
  }

  chip(file, index) {
    const onclick = () => this.remove(index);
    const off = el("button", { type: "button", "aria-label": `Take off ${file.name}`, onclick }, "×");
    return fileChip(file, off);
  }

  /** Take what is dropped on this node; while it is held over it, `shown` has the class `dropping`. */
  takeDrops(node, shown) {
    node.addEventListener("dragover", (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      event.dataTransfer.dropEffect = "copy";
      hold(shown);
    });
    node.addEventListener("dragleave", ({ relatedTarget }) => node.contains(relatedTarget) || hold(null));
    node.addEventListener("drop", (event) => {
      hold(null);
      if (!carriesFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      this.add(this.dropped(event.dataTransfer));
      this.onWrite();
    });
  }

  dropped({ items }) {
    const files = [...items].filter(({ kind }) => kind === "file");
    const plain = files.filter((item) => !item.webkitGetAsEntry?.()?.isDirectory);
    if (plain.length < files.length) this.onWrong("A folder cannot be sent: add the files in it.");
    return plain.map((item) => item.getAsFile());
  }
}

/** A file by its name and size; `more` stands behind. */
export function fileChip({ name, size }, ...more) {
  const told = size === undefined ? "" : el("span", { className: "size" }, bytes(size));
  return el("li", { className: "file" }, el("span", { className: "name", title: name }, name), told, more);
}

/** A file that is dropped beside a place for it would take the page's place: it does nothing. */
export function keepThePage() {
  const stay = (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  };
  addEventListener("dragover", stay);
  addEventListener("drop", stay);
}

/** Something is held over this place, and over no other. */
function hold(place) {
  held?.classList.remove("dropping");
  place?.classList.add("dropping");
  held = place;
}

function carriesFiles({ dataTransfer }) {
  return Boolean(dataTransfer?.types.includes("Files"));
}
