// What threads are called: `sess-abcd1234.research.asia` is a branch of a branch.

/** The thread of the inner life: the one that is no conversation. */
export const INNER = "sess-inner";
const SESSION = /^sess-[^.]+/;

/** The last name of a branch; a root has none. */
export function shortly(id) {
  return SESSION.test(id ?? "") ? id.split(".").slice(1).at(-1) ?? "the conversation" : (id ?? "");
}

/** A thread as it stands beside an entry. */
export const named = (id) => (id === INNER ? "inner life" : id.replace("sess-", ""));

/** The thread that this one is a branch of, or null. */
export function above(id) {
  return id.includes(".") ? id.slice(0, id.lastIndexOf(".")) : null;
}

export function rootOf(id) {
  return id.split(".")[0];
}

/** Is this thread that one, or under it? */
export function isUnder(id, root) {
  return id === root || id.startsWith(`${root}.`);
}
