// The quotation of a citation: the quoted words, how they were found, and a way to their message or page.

import { messageAt, sourceOf } from "./citations.js";
import { byId, el } from "./dom.js";
import { ask } from "./request.js";

/** Pixels between a citation and what opens beside it, and to the edge of the window. */
const GAP = 6;
/** Where a source is recorded, the nearest first, and what leads there. */
const SOURCES = { reading: "How it was read", observation: "Where it was found", message: "Where it was shared" };

/** From now on a press on a citation shows what it quotes. `keyOf(node)`: the thread of a message in the chat. */
export function openQuotations(keyOf) {
  const card = byId("quotation");
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".citation");
    if (!button) return;
    event.stopPropagation();
    show(card, button, button.closest("[data-thread]")?.dataset.thread ?? keyOf(button));
  });
  card.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation()); // it closes this alone
  card.addEventListener("click", ({ target }) => target.closest("a") && card.hidePopover());
}

async function show(card, button, thread) {
  const { head, quote } = button.dataset;
  const words = el("blockquote", {}, quote || "…");
  const ways = el("p", { className: "ways" }, elsewhere(head));
  card.replaceChildren(el("h3", {}, head), words, ways);
  card.showPopover();
  place(card, button);
  card.focus();
  const sources = thread ? await sourcesOf(thread, head) : [];
  if (!words.isConnected) return; // another one is shown
  if (!quote) words.textContent = lineAt(sources, head) || "These words are not recorded.";
  ways.append(...Object.keys(SOURCES).flatMap((kind) => way(sources, kind)));
  place(card, button);
}

/** Beside the citation, and within the window. */
function place(card, button) {
  const by = button.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const below = by.bottom + GAP;
  card.style.left = `${Math.max(GAP, Math.min(by.left, innerWidth - width - GAP))}px`;
  card.style.top = `${below + height > innerHeight ? Math.max(GAP, by.top - height - GAP) : below}px`;
}

/** The link that the place itself is: to a message in the chat or in Slack, or to a page. */
function elsewhere(head) {
  if (!/^https?:/.test(head)) return null;
  const message = messageAt(head);
  if (message && document.body.dataset.world === "local") return el("a", { href: `#${message.channel}/${message.root}` }, "Show the message");
  return el("a", { href: head, target: "_blank", rel: "noopener noreferrer" }, message ? "Open the message in Slack" : "Open the page");
}

/** The entries of this thread that name the file of this place, the newest first. */
async function sourcesOf(thread, head) {
  const { thread: root } = await ask(`/console/threads/${encodeURIComponent(thread)}?limit=1`);
  const { entries } = root ? await ask(`/console/search?${new URLSearchParams({ words: sourceOf(head), thread: root })}`) : {};
  return (entries ?? []).toReversed();
}

function way(sources, kind) {
  const found = sources.find((entry) => entry.kind === kind && (kind !== "message" || entry.body.files?.length));
  return found ? [el("a", { href: `#${found.seq}` }, SOURCES[kind])] : [];
}

/** The line itself, where an action found it: `menu.md:5: Soup of the day`. */
function lineAt(sources, head) {
  const texts = sources.filter(({ kind }) => kind === "observation").map(({ body }) => body.text ?? "");
  const lines = texts.flatMap((text) => text.split("\n"));
  return lines.find((line) => line.startsWith(`${head}: `))?.slice(head.length + 2) ?? "";
}
