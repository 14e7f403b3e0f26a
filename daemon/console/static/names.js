// What threads are called: `sess-abcd1234.research.asia` is a branch of a branch.

const SESSION = /^sess-[^.]+/;

/** The last name of a branch; a root has none. */
export function shortly(id) {
  return SESSION.test(id ?? "") ? id.split(".").slice(1).at(-1) ?? "the conversation" : (id ?? "");
}

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
