// One message, as it stands now.

import { fileChip } from "./attachments.js";
import { avatar } from "./avatar.js";
import { el } from "./dom.js";
import { clock, full } from "./format.js";
import { blocksView, isCard } from "./blocks.js";
import { folded } from "./long_message.js";
import { markup } from "./markup.js";
import { reactionsView } from "./reactions.js";

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
