// Two calls of a thread side by side: additions to the prompt, changes, and the cached part.

import { el } from "../base/dom.js";
import { count, several, whenExactly } from "../base/format.js";
import { rootOf } from "../base/names.js";
import { ask } from "../base/request.js";
import { blocksOf, growth } from "./call.js";
import { pathOf } from "../trees/readings_tree.js";

/** So many earlier calls are offered. */
const OFFERED = 20;

/** Where one chooses one of these earlier calls to compare this one with; null where there is none. */
export function comparison(call, others) {
  if (!others.length) return null;
  const view = el("div", { className: "difference" });
  const compare = async ({ target: { value } }) => {
    const shown = value ? difference(await ask(`/console/calls/${value}`), call) : [];
    if (choose.value === value) view.replaceChildren(...shown);
  };
  const choose = el(
    "select",
    { onchange: compare },
    el("option", { value: "" }, "nothing"),
    others.map(({ seq, at, body }) => el("option", { value: String(seq) }, `#${seq} ${body.name}, ${whenExactly(at)}`)),
  );
  return el("section", { className: "part comparison" }, el("label", {}, el("span", {}, "Compare with "), choose), view);
}

/** The last calls of the same model in this thread, or in its reading, before it; the newest first. */
export async function earlier({ seq, key, thread, body }) {
  const { entries } = await ask(`/console/threads/${encodeURIComponent(rootOf(thread))}?before=${seq}&limit=200`);
  const belongs = (other) => (body.reading ? other.body.reading && pathOf(other.key) === pathOf(key) : !other.body.reading);
  const alike = (other) => other.kind === "model-call" && other.thread === thread && other.body.model === body.model && belongs(other);
  return (entries ?? []).filter(alike).reverse().slice(0, OFFERED);
}

/** What this call saw that the other one did not, and the other way round. */
export function difference(other, call) {
  const [before, now] = [other, call].map(blocksOf);
  const { common, grown } = growth(before, now);
  const gone = before.slice(common + (grown ? 1 : 0));
  const added = now.slice(common).map((block, at) => (at || !grown ? block : { ...block, text: block.text.slice(grown) }));
  return [
    el("p", { className: "told" }, told(now, common, added, gone)),
    replaced(other, call) && el("p", { className: "told" }, "The changing text at the end of the prompt was replaced, as in every call: see below."),
    el("p", { className: "told" }, cached(call.entry.body.usage ?? {})),
    common > 0 && el("details", { className: "same" }, el("summary", {}, `${several(common, "part")} as before`), now.slice(0, common).map((block) => shown(block))),
    ...gone.map((block) => shown(block, "gone")),
    ...added.map((block) => shown(block, "added")),
    ...trailing(trailingOf(other), trailingOf(call)),
  ].filter(Boolean);
}

function told(now, common, added, gone) {
  const letters = (blocks) => `${count(blocks.reduce((sum, { text }) => sum + text.length, 0))} characters`;
  if (gone.length) return `The prompt began anew: ${several(common, "part")} at its beginning are the same, ${several(gone.length, "part")} of before are gone.`;
  if (!added.length) return "Nothing was added to the prompt before its changing text.";
  return `What comes before the changing text only grew: by ${letters(added)}, after ${letters(now.slice(0, common))} that are the same.`;
}

const trailingOf = (call) => call.entry.body.trailing ?? "";
const replaced = (other, call) => trailingOf(other) !== "" && trailingOf(other) !== trailingOf(call);

function cached(usage) {
  const [read, all] = [usage.cache_read ?? 0, (usage.cache_read ?? 0) + (usage.cache_write ?? 0) + (usage.input ?? 0)];
  return all ? `The cache held ${count(read)} of the ${count(all)} tokens that this call read: ${Math.round((100 * read) / all)} percent.` : "";
}

function shown({ role, text }, how = "") {
  return el("div", { className: "message-seen", dataset: { role, how } }, el("h4", {}, { added: `${role}, added`, gone: `${role}, gone` }[how] ?? role), el("pre", {}, text));
}

/** Line by line, as it changes with every call. */
function trailing(before, now) {
  if (before === now) return [];
  const [old, fresh] = [before, now].map((text) => text.split("\n"));
  const lines = [
    ...old.filter((line) => line.trim() && !fresh.includes(line)).map((line) => el("span", { className: "gone" }, `− ${line}\n`)),
    ...fresh.filter((line) => line.trim() && !old.includes(line)).map((line) => el("span", { className: "added" }, `+ ${line}\n`)),
  ];
  return [el("h4", {}, "changing text, different in every call"), el("pre", { className: "trailing lines" }, lines)];
}
