// Citations as the soul writes them, `[report.txt:120 "the words"; paper.pdf p.3 "more"]` or `(menu.md:5)`, and as
// the page shows them: one button for each place. quotation.js opens the place.

import { el } from "./dom.js";

/** What a place is called, up to where its quotation begins. */
const HEAD = /([^[\]"“”„«»\n]{1,400})["“„«]/y;
const CLOSE = /["”“»]/g;
const ENDS = /\s?\]/y;
const GOES_ON = /\s?[;,]\s?/y;
const LONGEST = 4_000;
/** Brackets of one text that are looked into; nobody but an attacker writes more of them. */
const MOST = 200;
const MOST_PLACES = 20;
const ENDING = "md|txt|csv|tsv|json|ya?ml|xml|html?|log|pdf|docx|rst|org|tex|srt|vtt|toml|ini|cfg|py|js|ts|css|sql";
const LINES = `[\\w./-]{1,200}\\.(?:${ENDING}):\\d+(?:[-–]\\d+)?`;
/** Lines of files without a quotation. */
const BARE = new RegExp(`\\((${LINES}(?:[;,] ?${LINES})*)\\)|\\[(${LINES}(?:[;,] ?${LINES})*)\\]`, "y");
/** What a place may be: lines of a file, a page of it, a link, or a file. */
const PLACE = /^(?:.+(?::l?|#l|,? lines? )\d+(?:[-–]l?\d+)?|.+?,? (?:p|pp|page|pages)\.? ?\d+(?:[-–]\d+)?|https?:\/\/\S+|.+\.\w{1,8})$/i;
const MESSAGE = /^https?:\/\/[^/]+\.slack\.com\/archives\/([A-Z0-9]+)\/p(\d+)(\d{6})/;
const SHORT = 40;

/** The brackets of a text that cite, in their order: [{start, end, places: [{head, quote}]}]. */
export function cited(text) {
  const found = [];
  let tries = 0;
  for (let start = text.search(/[[(]/); start >= 0 && tries < MOST; tries += 1) {
    const bracket = bracketAt(text, start);
    const cites = bracket && text[bracket.end] !== "(" && !isCode(text, start); // what is followed by one is a link
    if (cites) found.push({ start, ...bracket });
    const after = cites ? bracket.end : start + 1;
    const next = text.slice(after).search(/[[(]/);
    start = next < 0 ? -1 : after + next;
  }
  return found;
}

/** The citations of the bracket that begins here, and where it ends; null where it cites nothing. */
function bracketAt(text, start) {
  const lines = stuck(BARE, text, start);
  if (lines) return { end: start + lines[0].length, places: (lines[1] ?? lines[2]).split(/[;,] ?/).map((head) => ({ head, quote: "" })) };
  const quoted = text[start] === "[" ? quotedAt(text, start + 1) : null;
  return quoted?.places.every(({ head }) => PLACE.test(head)) ? quoted : null;
}

/** A quotation goes on to the first mark behind which its bracket ends, or another place begins. */
function quotedAt(text, start) {
  const places = [];
  let head = stuck(HEAD, text, start);
  let begins = start + (head?.[0].length ?? 0);
  CLOSE.lastIndex = begins;
  for (let mark = head && CLOSE.exec(text); mark && mark.index < start + LONGEST && places.length < MOST_PLACES; mark = CLOSE.exec(text)) {
    const after = mark.index + 1;
    const end = stuck(ENDS, text, after);
    const more = end ? null : nextHead(text, after);
    if (!end && !more) continue;
    places.push({ head: bare(head[1]), quote: text.slice(begins, mark.index).replace(/\s+/g, " ") });
    if (end) return { end: after + end[0].length, places };
    [head, begins] = more;
    CLOSE.lastIndex = begins;
  }
  return null;
}

function nextHead(text, at) {
  const parted = stuck(GOES_ON, text, at);
  const head = parted && stuck(HEAD, text, at + parted[0].length);
  return head && [head, at + parted[0].length + head[0].length];
}

function stuck(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const isCode = (text, at) => text.slice(0, at).split("`").length % 2 === 0;

/** A quotation may run on over lines: its bracket stands in one. */
export function inOneLine(text) {
  return cited(text).reduceRight((sofar, { start, end }) => sofar.slice(0, start) + sofar.slice(start, end).replace(/\s*\n\s*/g, " ") + sofar.slice(end), text);
}

/** The buttons of these places; with `words`, what they quote stands before each. */
export function citations(places, words = false) {
  const quoted = (place) => words && place.quote && [el("q", {}, place.quote), " "];
  return el("span", { className: "citations" }, places.map((place, at) => [at > 0 && " ", quoted(place), citation(place)]));
}

function citation({ head, quote }) {
  const title = quote ? `${head}: “${quote}”` : head;
  return el("button", { type: "button", className: "citation", title, "aria-haspopup": "dialog", dataset: { head, quote } }, shortly(head));
}

/** `report.txt:120`, `paper.pdf p. 3`, `a message`, `example.org` */
export function shortly(head) {
  if (messageAt(head)) return "a message";
  if (/^https?:/.test(head)) return new URL(head).host;
  const name = head.replace(/,? (?:p|pp|page|pages)\.? ?(?=\d)/, " p. ").replace(/(?::l|#l|,? lines? )(?=\d)/i, ":");
  return name.length > SHORT ? name.split("/").at(-1) : name;
}

/** The file or page of a place, without its line or page number. */
export const sourceOf = (head) => head.replace(/(?::l?|#l|,? lines? |,? (?:p|pp|page|pages)\.? ?)\d+(?:[-–]l?\d+)?$/i, "");

/** The message in Slack that a link leads to: {channel, ts, root}; null for any other place. */
export function messageAt(head) {
  const found = MESSAGE.exec(head);
  if (!found) return null;
  const ts = `${found[2]}.${found[3]}`;
  return { channel: found[1], ts, root: new URL(head).searchParams.get("thread_ts") ?? ts };
}

const bare = (head) => head.replace(/^[\s<>,:–-]+|[\s<>,:–-]+$/g, "").replace(/\|.*$/, "");
