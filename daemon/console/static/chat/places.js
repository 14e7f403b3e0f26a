// The left pane: the channels and DMs of the person who posts.

import { byId, el } from "../base/dom.js";
import { avatar, lock } from "../base/names.js";

export class Places {
  constructor({ onOpen }) {
    this.onOpen = onOpen;
    this.nav = byId("places");
    this.unread = new Set();
    this.current = null;
    this.list = [];
  }

  /** `list` is [{id, kind, label, about, member?, size?}]: kind is channel, private, dm or group; a DM has the member
      at the other end, a group DM the number of people in it. */
  show(list, soul) {
    this.list = list;
    this.soul = soul;
    this.render();
  }

  /** Another person has read other things. */
  forget() {
    this.unread.clear();
  }

  select(id) {
    this.current = id;
    this.unread.delete(id);
    this.render();
    this.nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  mark(id) {
    if (id === this.current || this.unread.has(id)) return;
    this.unread.add(id);
    this.render();
  }

  render() {
    const focused = this.nav.querySelector(":focus")?.dataset.id;
    const group = (title, places) => [
      el("h2", {}, title),
      el("ul", {}, places.map((place) => el("li", {}, this.button(place)))),
    ];
    this.nav.replaceChildren(
      ...group("Channels", this.list.filter(({ kind }) => kind === "channel" || kind === "private")),
      ...group("Direct messages", this.list.filter(({ kind }) => kind === "dm" || kind === "group")),
    );
    if (focused) this.nav.querySelector(`[data-id="${focused}"]`)?.focus();
  }

  button(place) {
    return el(
      "button",
      {
        type: "button",
        title: place.label,
        dataset: { id: place.id },
        className: this.unread.has(place.id) ? "unread" : "",
        "aria-current": place.id === this.current ? "true" : null,
        onclick: () => this.onOpen(place.id),
      },
      this.picture(place),
      el("span", { className: "called" }, place.label),
      place.kind === "group" && el("span", { className: "unseen" }, " (group DM)"),
      this.unread.has(place.id) && el("span", { className: "unseen" }, " (new messages)"),
    );
  }

  picture({ kind, member, size }) {
    if (kind === "dm") return avatar(member, { soul: member.id === this.soul, small: true });
    if (kind === "group") return el("span", { className: "size", "aria-hidden": "true" }, size);
    return el("span", { className: "hash" }, kind === "private" ? lock() : el("span", { "aria-hidden": "true" }, "#"));
  }
}
