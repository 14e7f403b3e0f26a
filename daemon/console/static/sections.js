// A model's raw answer, split at its tags, whatever they are called.

const SECTION = /<([a-z][\w-]{0,30})>([\s\S]*?)(?:<\/\1>|$)/g;

/** [{tag, text}]; text outside of any tag has the tag "". An unclosed section goes to the end. */
export function sections(raw) {
  const found = [];
  let end = 0;
  const add = (tag, text) => text.trim() && found.push({ tag, text: text.trim() });
  for (const match of raw.matchAll(SECTION)) {
    add("", raw.slice(end, match.index));
    add(match[1], match[2]);
    end = match.index + match[0].length;
  }
  add("", raw.slice(end));
  return found;
}

/** How a section is shown: what is spoken stands out, what is private steps back, one word is a chip. */
export function manner(tag, text) {
  if (tag === "say" || tag === "") return "speech";
  return /^\w+$/.test(text) ? "chip" : "thought";
}
