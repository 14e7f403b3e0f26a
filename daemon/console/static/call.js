// What the model saw in one call, rebuilt from the journal, and what it took.

import { el } from "./dom.js";
import { count, price, seconds, whenExactly } from "./format.js";
import { answer, choice } from "./lines.js";
import { isOpen } from "./sections.js";

const SHOWN_ELSEWHERE = new Set(["system", "messages", "model"]);

/** The view of GET /console/calls/{seq}. */
export function callView({ entry, request, agrees }) {
  return [
    !agrees && disagreement(),
    numbers(entry.body),
    tokens(entry.body.usage ?? {}),
    part("System", "Stays the same from call to call", system(request.system)),
    part("Messages", "The conversation, which only grows", messages(request.messages, entry.body.trailing)),
    entry.body.trailing && part("Trailing text", "Changes with every call", trailing(entry.body.trailing)),
    part("Answer", entry.body.stop_reason ?? "", answered(entry.body)),
    rest(request),
  ];
}

export function callTitle({ body, at }) {
  return ["model call", body.name, whenExactly(at)].filter(Boolean).join(" · ");
}

function disagreement() {
  return el(
    "p",
    { className: "warning", role: "alert" },
    "This request was rebuilt from the journal, and its hash is not the recorded one. ",
    "What the model really saw differed from what stands here.",
  );
}

function numbers(body) {
  const facts = [
    ["Model", body.model],
    ["Price", price(body)],
    ["First text", seconds(body.first_text)],
    ["Duration", seconds(body.seconds)],
  ];
  const fact = ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value ?? "–"));
  return el("dl", { className: "numbers" }, facts.map(fact));
}

function tokens(usage) {
  const kinds = [
    ["cache_read", "cache read"],
    ["cache_write", "cache write"],
    ["input", "input"],
    ["output", "output"],
  ];
  const bar = kinds.map(([key]) => el("span", { dataset: { kind: key }, style: { "flex-grow": usage[key] ?? 0 } }));
  const legend = kinds.map(([key, name]) =>
    el("li", { dataset: { kind: key } }, el("b", {}, count(usage[key])), ` ${name}`),
  );
  return el(
    "div",
    { className: "tokens" },
    el("div", { className: "bar", "aria-hidden": "true" }, bar),
    el("ul", {}, legend),
  );
}

function part(title, note, content) {
  return el("section", { className: "part" }, el("h3", {}, title, el("small", {}, note)), content);
}

function system(value) {
  const shown = texts(value).map((text) => el("pre", {}, text.text, text.cached && breakpoint()));
  return el("div", { className: "system", tabIndex: 0 }, shown);
}

function trailing(text) {
  return el("pre", { className: "trailing" }, text);
}

function messages(list, trailing) {
  return (list ?? []).map(({ role, content }, index) => {
    const last = index === list.length - 1;
    const shown = texts(content).filter((text) => !(last && trailing && text.text === trailing));
    if (!shown.length) return null;
    return el(
      "div",
      { className: "message-seen", dataset: { role } },
      el("h4", {}, role),
      shown.map((text) => el("pre", {}, text.text, text.cached && breakpoint())),
    );
  });
}

/** All that this call saw but its trailing text, part by part, the system text first. */
export function blocksOf({ entry, request }) {
  const { trailing } = entry.body;
  const parts = [{ role: "system", content: request.system }, ...(request.messages ?? [])];
  const blocks = parts.flatMap(({ role, content }) => texts(content).map(({ text }) => ({ role, text })));
  return trailing && blocks.at(-1)?.text === trailing ? blocks.slice(0, -1) : blocks;
}

function texts(content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return blocks.map((block) => ({ text: block.text ?? JSON.stringify(block), cached: Boolean(block.cache_control) }));
}

function breakpoint() {
  return el("span", { className: "breakpoint" }, "cached up to here");
}

/** What one answers in open thought is shown as it was written, with all its tags; so is what was chosen, with all
    that it is to be given. */
function answered(body) {
  if (choice(body.text)) return el("div", { className: "answer" }, answer(body), el("pre", {}, body.text));
  return isOpen(body) || body.reading || body.name === "tick" ? el("pre", {}, body.text) : el("div", { className: "answer" }, answer(body));
}

function rest(request) {
  const other = Object.fromEntries(Object.entries(request).filter(([key]) => !SHOWN_ELSEWHERE.has(key)));
  return el(
    "details",
    { className: "part rest" },
    el("summary", {}, "Other parameters"),
    el("pre", {}, JSON.stringify(other, null, 2)),
  );
}
