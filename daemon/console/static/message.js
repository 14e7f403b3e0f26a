// One message, as it stands now.

import { avatar } from "./avatar.js";
import { el } from "./dom.js";
import { clock, full } from "./format.js";
import { markup } from "./markup.js";

/** `members` is {user id: {id, name}}; `soul` is the soul's user id. */
export function messageView(message, { members, names, soul }) {
  const member = members[message.user] ?? { id: message.user ?? "?", name: message.username ?? "Someone" };
  return el(
    "article",
    {
      className: message.streaming ? "message streaming" : "message",
      dataset: { ts: message.ts },
      "aria-busy": message.streaming ? "true" : null,
    },
    avatar(member, { soul: member.id === soul }),
    el(
      "div",
      {},
      el("p", { className: "by" }, el("b", {}, member.name), time(message.ts)),
      el("div", { className: "text" }, content(message, names)),
    ),
  );
}

function time(ts) {
  return el("time", { title: full(ts) }, clock(ts));
}

function content(message, names) {
  const files = (message.files ?? []).map((file) => el("p", {}, `⎘ ${file.name ?? file.title ?? file.id}`));
  const nodes = [...markup(message.text ?? "", { names, star: message.bot_id ? "em" : "strong" }), ...files];
  if (message.edited) nodes.push(el("span", { className: "edited" }, "(edited)"));
  return nodes.length ? nodes : el("p", {}, "");
}
