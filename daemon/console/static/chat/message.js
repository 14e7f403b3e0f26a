// One message in its present state.

import { el } from "../base/dom.js";
import { clock, count, full } from "../base/format.js";
import { emoji, markup } from "../base/markup.js";
import { avatar } from "../base/names.js";
import { ticked } from "../base/plan.js";
import { fileChip } from "./attachments.js";
import { gesture, Refused } from "./slack_client.js";

/** `world` as in conversation.js: of it `members` is {user id: {id, name}}, `soul` the soul's user id. */
export function messageView(message, world) {
  const { members, soul } = world;
  const member = members[message.user] ?? { id: message.user ?? "?", name: message.username ?? "Someone" };
  return el(
    "article",
    {
      className: ["message", message.streaming && "streaming", message.is_ephemeral && "whisper"].filter(Boolean).join(" "),
      dataset: { ts: message.ts },
      "aria-busy": message.streaming ? "true" : null,
    },
    avatar(member, { soul: member.id === soul }),
    el(
      "div",
      {},
      message.is_ephemeral && el("p", { className: "eyebrow" }, "Only visible to you"),
      el("p", { className: "by" }, el("b", {}, member.name), time(message.ts)),
      folded(message, world.channel, el("div", { className: "text" }, content(message, world))),
      !message.is_ephemeral && reactionsView(message, world),
    ),
  );
}

function time(ts) {
  return el("time", { title: full(ts) }, clock(ts));
}

function content(message, world) {
  const chips = (message.files ?? []).map((file) => fileChip({ ...file, name: file.name ?? file.title ?? file.id }));
  const files = chips.length ? [el("ul", { className: "files" }, chips)] : [];
  const star = message.bot_id ? "em" : "strong";
  const words = message.blocks ? blocksView(message, world) : markup(message.text ?? "", { star });
  const nodes = [...words, ...files];
  if (message.edited && !isCard(message)) nodes.push(el("span", { className: "edited" }, "(edited)"));
  return nodes.length ? nodes : el("p", {}, "");
}

// The reactions under a message, and the one that stops the soul.

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

// Block Kit: the texts of a message's blocks, and its buttons.

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

  /** A pressed button keeps the focus, so that a form which it opens gives it back. */
  async function pressed(button, action_id) {
    if (button.ariaDisabled) return;
    button.ariaDisabled = "true";
    try {
      await press(action_id);
    } catch (error) {
      refused.textContent = `This was not pressed: ${error instanceof Refused ? error.message : "the daemon is away"}.`;
      refused.hidden = false;
    }
    button.ariaDisabled = null;
  }

  return [el("div", { className: "actions", role: "group", "aria-label": "Choices" }, buttons), refused];
}

// A long message is folded; a button shows all of it.

/** What has more lines or characters is folded. */
const LINES = 40;
const LETTERS = 4_000;

/** The messages, by channel and ts, that somebody unfolded, or saw being written. */
const unfolded = new Set();

/** The words of a message, folded where they are long; a message that is being written stays whole. */
export function folded({ ts, text = "", streaming }, channel, words) {
  const id = `${channel}:${ts}`;
  if (streaming) unfolded.add(id);
  const lines = text.split("\n").length;
  if (lines <= LINES && text.length <= LETTERS) return [words];
  const all = lines > LINES ? `Show all ${count(lines)} lines` : `Show all ${count(text.length)} characters`;
  const button = el("button", { type: "button", className: "show-all", onclick: () => turn(!unfolded.has(id)) });
  function turn(open) {
    unfolded[open ? "add" : "delete"](id);
    words.classList.toggle("folded", !open);
    button.textContent = open ? "Show less" : all;
    button.ariaExpanded = String(open);
  }
  turn(unfolded.has(id));
  return [words, !streaming && button];
}
