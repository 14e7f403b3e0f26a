// The prompt of a model call, block by block, and what of it is new since an earlier call.

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
