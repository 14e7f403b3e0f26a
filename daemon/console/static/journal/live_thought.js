// The running thought, as it comes: not recorded yet, and gone when its call ends.

import { freely, isOpen, privately } from "../base/sections.js";

/** A tag that has only begun to come. */
const HALF = /<\/?[\w-]*$/;
const WHY = /"(?:why|reasoning)"\s*:\s*"((?:[^"\\]|\\.)*)/;

export class Thinking {
  constructor() {
    this.calls = new Map();
  }

  /** In which threads something is thought. */
  get threads() {
    return new Set([...this.calls.values()].map(({ thread }) => thread));
  }

  /** {number, text} is a piece more of this call; the first one says {thread, key, name}, the last one {over}. */
  take({ number, over, text, ...begins }) {
    const call = this.calls.get(number) ?? { text: "", ...begins };
    if (over) this.calls.delete(number);
    else this.calls.set(number, { ...call, text: call.text + text });
  }

  /** It stands in the journal now. */
  recorded({ key }) {
    for (const [number, call] of this.calls) if (call.key === key) this.calls.delete(number);
  }

  /** What is thought in this thread so far; null where no model is asked. Readings have trees of their own. */
  in(thread) {
    const calls = [...this.calls.values()].filter((call) => call.thread === thread && !call.key.includes("!in/"));
    return calls.length ? calls.map(soFar).filter(Boolean).join("\n\n") : null;
  }

  forget() {
    this.calls.clear();
  }
}

function soFar({ name, text }) {
  const came = text.replace(HALF, "");
  if (name === "think") return came;
  if (came.trimStart().startsWith("{")) return (WHY.exec(came)?.[1] ?? "").replaceAll("\\n", "\n").replaceAll('\\"', '"');
  return isOpen({ name }) ? freely(came) : privately(came);
}
