// Slack's mrkdwn and a little Markdown as DOM nodes. Nothing here ever becomes HTML source.

import { channel, mention } from "./called.js";
import { citations, cited, inOneLine, shortly } from "./citations.js";
import { el } from "./dom.js";
import { emoji } from "./emoji.js";

const NO_LINK = "\\s<>()\\[\\]{}\"“”„«»‹›`";
const INLINE = new RegExp(
  [
    "`(?<code>[^`\\n]+)`",
    "<(?<href>(?:https?:|mailto:)[^|<>\\s]+)(?:\\|(?<label>[^<>]+))?>",
    "<@(?<user>[A-Z0-9]+)(?:\\|[^<>]*)?>",
    "<#(?<channel>[A-Z0-9]+)(?:\\|(?<channelName>[^<>]*))?>",
    "\\[(?<mdLabel>[^\\[\\]\\n]+)\\]\\((?<mdHref>(?:https?:|mailto:)[^()\\s]+)\\)",
    `(?<bare>https?:\\/\\/(?:(?!&[lg]t;)[^${NO_LINK}])*(?!&[lg]t;)[^${NO_LINK}.,;:!?'’‘*_~])`,
    "\\*\\*(?<strong>[^*\\n]+)\\*\\*",
    "(?<![\\w*])\\*(?<star>[^*\\s](?:[^*\\n]*[^*\\s])?)\\*(?![\\w*])",
    "(?<![\\w_])_(?<em>[^_\\s](?:[^_\\n]*[^_\\s])?)_(?![\\w_])",
    "(?<!\\w):(?<emoji>[a-z0-9_+-]{1,40}):",
    "(?<![\\w~])~~?(?<del>[^~\\s](?:[^~\\n]*[^~\\s])?)~~?(?![\\w~])",
  ].join("|"),
  "g",
);
const LISTS = new Set(["ul", "ol"]);
const BULLET = /^\s*[-*•]\s+/;
const NUMBER = /^\s*\d{1,3}[.)]\s+/;
const QUOTE = /^(?:>|&gt;)\s?/;
const ROW = /^\s*\|.*\|\s*$/;
const RULE = /^[\s|:-]+$/;
const SIDES = { ":-": "left", ":-:": "center", "-:": "right" };
/** So many signs further in, a line of a list belongs to the one above it. */
const DEEPER = 2;
/** What a line says besides a citation. */
const EDGES = /[^\s.,;:]/;
/** So much of a text is looked at where it stands in one line. */
const GLANCE = 600;
const HEADING = /^#{1,4}\s+/;

/** The nodes of a message. `star` is what *one star* means: em in Markdown. */
export function markup(text, { star = "em" } = {}) {
  const parts = text.split("```");
  return parts.flatMap((part, index) => {
    if (index % 2 === 0) return blocks(inOneLine(part), { star });
    return el("pre", {}, el("code", {}, plain(part.replace(/^[\w+-]*\n/, "").replace(/\n$/, ""))));
  });
}

/** A text of many lines in one line of a list, with nothing to press and no marks: where points follow each other,
    a dot stands between them. */
export function oneLine(text) {
  const lines = (text ?? "").slice(0, GLANCE).replaceAll("```", "").split("\n").filter((line) => line.trim() && !RULE.test(line));
  return lines.flatMap((line, index) => {
    const point = BULLET.test(line) || NUMBER.test(line);
    const words = (ROW.test(line) ? cells(line).join(", ") : line).replace(BULLET, "").replace(QUOTE, "").replace(HEADING, "");
    return [index ? (point ? " · " : " ") : "", inline(words, { flat: true })];
  });
}

function blocks(text, words) {
  const found = [];
  for (const line of text.replace(/^\n+|\n+$/g, "").split("\n")) {
    const kind = kindOf(line);
    const last = found.at(-1);
    const deeper = LISTS.has(kind) && LISTS.has(last?.kind) && isUnder(line, last.lines[0]);
    const same = kind !== "gap" && last?.kind === kind && kind !== "h4";
    if (deeper || same) last.lines.push(line);
    else found.push({ kind, lines: [line] });
  }
  return found.filter(({ kind }) => kind !== "gap").map(({ kind, lines }) => block(kind, lines, words));
}

function kindOf(line) {
  if (!line.trim()) return "gap";
  if (ROW.test(line)) return "table";
  if (BULLET.test(line)) return "ul";
  if (NUMBER.test(line)) return "ol";
  if (QUOTE.test(line)) return "blockquote";
  return HEADING.test(line) ? "h4" : "p";
}

function block(kind, lines, words) {
  const item = (line, marker) => inline(line.replace(marker, ""), words);
  if (LISTS.has(kind)) return list(kind, lines, words);
  if (kind === "table" && RULE.test(lines[1] ?? "")) return table(lines, words);
  if (kind === "table") return block("p", lines, words);
  const marker = { blockquote: QUOTE, h4: HEADING }[kind] ?? /^/;
  return el(kind, {}, lines.map((line, index) => [index > 0 && el("br"), item(line, marker)]));
}

/** Its items, each with the list that stands under it. */
function list(kind, lines, words) {
  const marker = kind === "ul" ? BULLET : NUMBER;
  const items = [];
  for (const line of lines) {
    if (items.length && isUnder(line, lines[0])) items.at(-1).under.push(line);
    else items.push({ line, under: [] });
  }
  const item = ({ line, under }) => el("li", {}, inline(line.replace(marker, ""), words), blocks(under.join("\n"), words));
  return el(kind, kind === "ol" ? { start: parseInt(lines[0], 10) } : {}, items.map(item));
}

const isUnder = (line, first) => indent(line) >= indent(first) + DEEPER;
const indent = (line) => line.replaceAll("\t", "    ").search(/\S/);

/** Its first line is the head, its second one says how the columns are set. */
function table([head, rule, ...rows], words) {
  const sides = cells(rule).map((cell) => SIDES[cell.replace(/-+/, "-")] ?? null);
  const row = (tag) => (line) =>
    el("tr", {}, cells(line).map((cell, index) => el(tag, { style: sides[index] ? { "text-align": sides[index] } : {} }, inline(cell, words))));
  return el("table", {}, el("thead", {}, row("th")(head)), el("tbody", {}, rows.map(row("td"))));
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

/** The words of a line, and what it cites. */
function inline(text, words) {
  const nodes = [];
  let after = 0;
  for (const { start, end, places } of cited(text)) {
    const alone = !EDGES.test(text.slice(0, start) + text.slice(end));
    const cites = citing(places, words, alone);
    nodes.push(...spans(text.slice(after, start), words), text[start] === "(" ? el("span", { className: "bracket" }, "(", cites, ")") : cites);
    after = end;
  }
  return [...nodes, ...spans(text.slice(after), words)];
}

/** Where nothing else stands in its line, what is quoted is what is said. */
function citing(places, words, alone) {
  const read = places.map(({ head, quote }) => ({ head: plain(head), quote: plain(quote) }));
  return words.flat ? read.map(({ head }) => shortly(head)).join("; ") : citations(read, alone);
}

function spans(text, words) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(plain(text.slice(end, match.index)), span(match.groups, words));
    end = match.index + match[0].length;
  }
  return [...nodes, plain(text.slice(end))];
}

function span(found, words) {
  if (found.code) return words.flat ? plain(found.code) : el("code", {}, plain(found.code));
  if (found.emoji) return emoji(found.emoji);
  if (found.user) return mention(found.user);
  if (found.channel) return found.channelName ? el("span", { className: "mention" }, `#${found.channelName}`) : channel(found.channel);
  if (words.flat) return flat(found);
  if (found.strong) return el("strong", {}, inline(found.strong, words));
  if (found.star) return el(words.star, {}, inline(found.star, words));
  if (found.em) return el("em", {}, inline(found.em, words));
  if (found.del) return el("s", {}, inline(found.del, words));
  const href = plain(found.href ?? found.mdHref ?? found.bare);
  const label = plain(found.label ?? found.mdLabel ?? href.replace(/^mailto:/, ""));
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

/** The words alone. */
function flat({ strong, star, em, del, href, label, mdHref, mdLabel, bare }) {
  const marked = strong ?? star ?? em ?? del;
  if (marked) return inline(marked, { flat: true });
  return plain(label ?? mdLabel ?? href ?? mdHref ?? bare);
}

/** Slack escapes three characters in every text. */
function plain(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
