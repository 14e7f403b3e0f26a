// The reactions under a message, and the one that stops the soul.

import { el } from "./dom.js";
import { emoji } from "./emoji.js";

const STOP = "octagonal_sign";

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
        "aria-label": count ? `${name}, ${who}` : `React with ${emoji(name)}`,
        title: who || `React with ${emoji(name)}: stops the soul at its work`,
        onclick: () => slack.call(method, { channel, timestamp: ts, name }).catch(() => {}),
      },
      emoji(name),
      count > 0 && ` ${count}`,
    );
  };
  return el("p", { className: "reactions" }, shown.map(chip));
}
