// One model call: its prompt, rebuilt from the journal, and its cost.

import { el } from "../base/dom.js";
import { answer, choice } from "../base/entry_lines.js";
import { count, price, seconds, several, whenExactly } from "../base/format.js";
import { isOpen } from "../base/sections.js";

const SHOWN_ELSEWHERE = new Set(["system", "messages", "model"]);

/** The view of GET /console/calls/{seq}; `before` is the same of the call before it in its thread, or null. What is
    new in it comes first. */
export function callView(call, before) {
  const { entry, request, agrees } = call;
  const { system, earlier, fresh } = parted(call, before);
  const parts = [
    part("Answer", entry.body.stop_reason ?? "", answered(entry.body)),
    fresh.length > 0 && part("New in this call", before ? "since the call before it in this thread" : "all that was said: no call came before", blocks(fresh)),
    entry.body.trailing && part("Changing text", "stands at the end of the prompt, and is different in every call", el("pre", { className: "trailing" }, entry.body.trailing)),
    earlier.length > 0 && rest("Earlier messages", `${several(earlier.length, "part")}, as in the call before`, blocks(earlier)),
    rest("System text", `${count(system.reduce((sum, { text }) => sum + text.length, 0))} characters, the same from call to call`, el("div", { className: "system" }, blocks(system))),
    rest("Other parameters", "", parameters(request)),
  ].filter(Boolean);
  return [!agrees && disagreement(), numbers(entry.body), tokens(entry.body.usage ?? {}), jumps(parts), ...parts];
}

/** Its blocks: those of the system text, those that the call before it saw, and those that are new. */
function parted(call, before) {
  const now = blocksOf(call);
  const system = now.filter(({ role }) => role === "system");
  const { common, grown } = before ? growth(blocksOf(before), now) : { common: 0, grown: 0 };
  const since = Math.max(common, system.length);
  const fresh = now.slice(since);
  if (grown && since === common) fresh[0] = { ...fresh[0], text: fresh[0].text.slice(grown), goesOn: true };
  return { system, earlier: now.slice(system.length, since), fresh };
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
  return el("section", { className: "part", tabIndex: -1, dataset: { title } }, el("h3", {}, title, el("small", {}, note)), content);
}

/** The blocks of a prompt, each under who says it. */
function blocks(list) {
  return list.map(({ role, text, cached, goesOn }) =>
    el(
      "div",
      { className: "message-seen", dataset: { role } },
      el("h4", {}, goesOn ? `${role}, goes on` : role),
      el("pre", {}, text, cached && breakpoint()),
    ),
  );
}

/** What stands there folded, until one wants to see it. */
function rest(title, note, content) {
  return el("details", { className: "part rest", dataset: { title } }, el("summary", {}, title, el("small", {}, note)), content);
}

/** One button for each part, which leads to it. */
function jumps(parts) {
  const jump = (part) => {
    part.open = true;
    part.scrollIntoView({ block: "start" });
    (part.querySelector("summary") ?? part).focus({ preventScroll: true });
  };
  const button = (part) => el("button", { type: "button", onclick: () => jump(part) }, part.dataset.title);
  return el("nav", { className: "jumps", "aria-label": "Parts of the call" }, parts.map(button));
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

function parameters(request) {
  const other = Object.fromEntries(Object.entries(request).filter(([key]) => !SHOWN_ELSEWHERE.has(key)));
  return el("pre", {}, JSON.stringify(other, null, 2));
}

// The blocks of the prompt, and the new ones since an earlier call.

/** In so long a beginning two texts that differ are told as one that grew. */
const GREW = 80;

/** The blocks of one message. */
function texts(content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return blocks.map((block) => ({ text: block.text ?? JSON.stringify(block), cached: Boolean(block.cache_control) }));
}

/** All that this call saw but its trailing text, part by part, the system text first. */
export function blocksOf({ entry, request }) {
  const { trailing } = entry.body;
  const parts = [{ role: "system", content: request.system }, ...(request.messages ?? [])];
  const blocks = parts.flatMap(({ role, content }) => texts(content).map((block) => ({ role, ...block })));
  return trailing && blocks.at(-1)?.text === trailing ? blocks.slice(0, -1) : blocks;
}

/** How many blocks at its beginning are those of the earlier call, and how many characters of the next one are. */
export function growth(before, now) {
  const other = before.findIndex((block, at) => !alike(block, now[at]));
  const common = other < 0 ? before.length : other;
  return { common, grown: grew(before[common], now[common]) };
}

const alike = (one, other) => other && one.role === other.role && one.text === other.text;

/** How many characters of a text stand at the beginning of the other one; 0 where it did not just grow. */
function grew(before, now) {
  const same = before && now && before.role === now.role && now.text.startsWith(before.text) && before.text.length >= GREW;
  return same ? before.text.length : 0;
}
