// Block Kit as this page shows it: the texts of a message's blocks, and its buttons.

import { ticked } from "./checklist.js";
import { el } from "./dom.js";
import { markup } from "./markup.js";
import { gesture, Refused } from "./slack.js";

/** Is it one that changes in place, under a header of its own? */
export const isCard = ({ blocks }) => blocks?.[0]?.type === "header";

/** The nodes of a message that has blocks; as in Slack its `text` is then shown nowhere. */
export function blocksView(message, { me, channel }) {
  const press = (action_id) => gesture("press", { user: me, channel, ts: message.ts, action_id });
  const nodes = message.blocks.flatMap((block) => SHOWN[block.type]?.(block, { press }) ?? []);
  return isCard(message) ? [el("section", { className: "card" }, nodes)] : nodes;
}

function mrkdwn(text) {
  const words = { star: text?.type === "mrkdwn" ? "strong" : "em" };
  return ticked(text?.text ?? "", words) ?? markup(text?.text ?? "", words);
}

const SHOWN = {
  markdown: ({ text }) => markup(text),
  section: ({ text, fields = [] }) => [text, ...fields].filter(Boolean).flatMap(mrkdwn),
  header: ({ text }) => el("h4", {}, text.text),
  divider: () => el("hr"),
  context: ({ elements }) => el("p", { className: "context" }, elements.flatMap(mrkdwn)),
  actions: ({ elements }, { press }) => actions(elements, press),
};

function actions(elements, press) {
  const refused = el("p", { className: "refused", role: "alert", hidden: true });
  const buttons = elements
    .filter(({ type }) => type === "button")
    .map(({ text, style, action_id }) =>
      el(
        "button",
        { type: "button", className: ["press", style].filter(Boolean).join(" "), onclick: ({ target }) => pressed(target, action_id) },
        text.text,
      ),
    );

  async function pressed(button, action_id) {
    button.disabled = true;
    try {
      await press(action_id);
    } catch (error) {
      refused.textContent = `This was not pressed: ${error instanceof Refused ? error.message : "the daemon is away"}.`;
      refused.hidden = false;
    }
    button.disabled = false;
  }

  return [el("div", { className: "actions", role: "group", "aria-label": "Choices" }, buttons), refused];
}
