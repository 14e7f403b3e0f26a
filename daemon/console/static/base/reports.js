// Reports on models that do not answer, or are slow, with times of the reader's zone.

import { several, when, whenExactly } from "./format.js";

/** All of a report, in a few sentences. */
export function standing({ what, slow, odd, since, waiting, next_try: next }) {
  const told = [what, `Since ${when(since)}.`];
  if (!odd) told.push(waits(waiting));
  if (!slow) told.push(tried(next));
  return told.join(" ");
}

function waits(people) {
  if (!people) return "Nobody waits for an answer.";
  return people === 1 ? "One person waits for an answer." : `${several(people, "people").slice(0, -1)} wait for an answer.`;
}

function tried(next) {
  if (next === null || next === undefined) return "The next call tries it again.";
  if (next * 1000 <= Date.now()) return "It is being tried now.";
  return `The next try comes at ${whenExactly(next)}.`;
}
