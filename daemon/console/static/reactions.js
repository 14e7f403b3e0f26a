// The reactions under a message, and the one that stops the soul.

import { el } from "./dom.js";

const STOP = "octagonal_sign";
const EMOJIS = { [STOP]: "🛑", "+1": "👍", "-1": "👎", eyes: "👀", heart: "❤️", no_entry: "⛔", tada: "🎉", white_check_mark: "✅" };

/** A press adds one's own, or takes it away. */
export function reactionsView({ ts, reactions = [] }, { slack, me, channel, names }) {
  const shown = reactions.some(({ name }) => name === STOP) ? reactions : [...reactions, { name: STOP, users: [], count: 0 }];
  const chip = ({ name, users, count }) => {
    const mine = users.includes(me);
    const method = mine ? "reactions.remove" : "reactions.add";
    const who = users.map((user) => names[user]).join(", ");
    return el(
      "button",
      {
        type: "button",
        className: count ? "reaction" : "reaction offered",
        "aria-pressed": String(mine),
        "aria-label": count ? `${name}, ${who}` : `React with ${EMOJIS[name]}`,
        title: who || `React with ${EMOJIS[name]}: stops the soul at its work`,
        onclick: () => slack.call(method, { channel, timestamp: ts, name }).catch(() => {}),
      },
      EMOJIS[name] ?? `:${name}:`,
      count > 0 && ` ${count}`,
    );
  };
  return el("p", { className: "reactions" }, shown.map(chip));
}
