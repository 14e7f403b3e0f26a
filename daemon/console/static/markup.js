// Slack's mrkdwn and a little Markdown as DOM nodes. Nothing here ever becomes HTML source.

import { el } from "./dom.js";

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
    "(?<![\\w~])~~?(?<del>[^~\\s](?:[^~\\n]*[^~\\s])?)~~?(?![\\w~])",
  ].join("|"),
  "g",
);
const BULLET = /^\s*[-*•]\s+/;
const NUMBER = /^\s*\d{1,3}[.)]\s+/;
const QUOTE = /^(?:>|&gt;)\s?/;
const HEADING = /^#{1,4}\s+/;

/** The nodes of a message. `names` gives {user id: name}; `star` is what *one star* means: em in Markdown. */
export function markup(text, { names = {}, star = "em" } = {}) {
  const parts = text.split("```");
  return parts.flatMap((part, index) => {
    if (index % 2 === 0) return blocks(part, { names, star });
    return el("pre", {}, el("code", {}, plain(part.replace(/^[\w+-]*\n/, "").replace(/\n$/, ""))));
  });
}

function blocks(text, words) {
  const found = [];
  for (const line of text.replace(/^\n+|\n+$/g, "").split("\n")) {
    const kind = kindOf(line);
    const last = found.at(-1);
    if (kind !== "gap" && last?.kind === kind && kind !== "h4") last.lines.push(line);
    else found.push({ kind, lines: [line] });
  }
  return found.filter(({ kind }) => kind !== "gap").map(({ kind, lines }) => block(kind, lines, words));
}

function kindOf(line) {
  if (!line.trim()) return "gap";
  if (BULLET.test(line)) return "ul";
  if (NUMBER.test(line)) return "ol";
  if (QUOTE.test(line)) return "blockquote";
  return HEADING.test(line) ? "h4" : "p";
}

function block(kind, lines, words) {
  const item = (line, marker) => inline(line.replace(marker, ""), words);
  if (kind === "ul") return el("ul", {}, lines.map((line) => el("li", {}, item(line, BULLET))));
  if (kind === "ol") {
    return el("ol", { start: parseInt(lines[0], 10) }, lines.map((line) => el("li", {}, item(line, NUMBER))));
  }
  const marker = { blockquote: QUOTE, h4: HEADING }[kind] ?? /^/;
  return el(kind, {}, lines.map((line, index) => [index > 0 && el("br"), item(line, marker)]));
}

function inline(text, words) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(plain(text.slice(end, match.index)), span(match.groups, words));
    end = match.index + match[0].length;
  }
  return [...nodes, plain(text.slice(end))];
}

function span(found, words) {
  if (found.code) return el("code", {}, plain(found.code));
  if (found.user) return el("span", { className: "mention" }, `@${words.names[found.user] ?? found.user}`);
  if (found.channel) return el("span", { className: "mention" }, `#${found.channelName || found.channel}`);
  if (found.strong) return el("strong", {}, inline(found.strong, words));
  if (found.star) return el(words.star, {}, inline(found.star, words));
  if (found.em) return el("em", {}, inline(found.em, words));
  if (found.del) return el("s", {}, inline(found.del, words));
  const href = plain(found.href ?? found.mdHref ?? found.bare);
  const label = plain(found.label ?? found.mdLabel ?? href.replace(/^mailto:/, ""));
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

/** Slack escapes three characters in every text. */
function plain(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
