// Server-sent events while the page is visible: a browser has only six connections to one server. They are read by
// fetch, since an EventSource sends no header, and so no session.

import { request } from "./session.js";

/** Milliseconds until it is asked again where the stream broke off, or the answer was none. */
const AGAIN = 3_000;
/** And where the daemon ended it, which it does from time to time: who reads on shows that they still may. */
const ON = 200;

/** Follow `address()` until the returned function is called; `onUp(gap)`: something may have been missed;
    `onThought`: what is not recorded, from its beginning after each `onUp`. */
export function live(address, { onData, onUp, onDown = () => {}, onThought = () => {} }) {
  const hear = { message: onData, thinking: onThought };
  let source = null;
  let gap = false;
  let due = 0;

  async function start() {
    const mine = (source = new AbortController());
    let broke = false;
    try {
      const stream = await opened(address(), mine.signal);
      if (source !== mine) return;
      onUp(gap);
      gap = true;
      for await (const { name, data } of events(stream)) tell(hear[name], data);
    } catch {
      broke = true;
    }
    if (source !== mine) return; // it was ended on purpose
    gap = true;
    stop();
    if (broke) onDown();
    due = setTimeout(look, broke ? AGAIN : ON);
  }

  function stop() {
    clearTimeout(due);
    source?.abort();
    source = null;
  }

  function look() {
    if (document.hidden) stop();
    else if (!source) start();
  }

  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    stop();
  };
}

async function opened(address, signal) {
  const answer = await request(address, { signal });
  if (!answer.ok) throw new Error(`no stream: ${answer.status}`);
  return answer.body;
}

/** An error of who hears it is no end of the stream. */
function tell(hear, data) {
  try {
    hear?.(JSON.parse(data));
  } catch (error) {
    reportError(error);
  }
}

/** The events of a stream: lines, of which an empty one ends each. */
async function* events(stream) {
  let rest = "";
  for await (const text of pieces(stream)) {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const event = read(part);
      if (event.data) yield event;
    }
  }
}

async function* pieces(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

function read(part) {
  const event = { name: "message", data: "" };
  for (const line of part.split("\n")) {
    if (line.startsWith("event: ")) event.name = line.slice(7);
    if (line.startsWith("data: ")) event.data += line.slice(6);
  }
  return event;
}
