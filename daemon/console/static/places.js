// The left pane: the channels and DMs of the person one posts as.

import { avatar } from "./avatar.js";
import { byId, el } from "./dom.js";

export class Places {
  constructor({ onOpen }) {
    this.onOpen = onOpen;
    this.nav = byId("places");
    this.unread = new Set();
    this.current = null;
    this.list = [];
  }

  /** `list` is [{id, label, about, member?}]: channels have no member, DMs the one at the other end. */
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
      ...group("Channels", this.list.filter((place) => !place.member)),
      ...group("Direct messages", this.list.filter((place) => place.member)),
    );
    if (focused) this.nav.querySelector(`[data-id="${focused}"]`)?.focus();
  }

  button(place) {
    const picture = place.member
      ? avatar(place.member, { soul: place.member.id === this.soul, small: true })
      : el("span", { className: "hash", "aria-hidden": "true" }, "#");
    return el(
      "button",
      {
        type: "button",
        dataset: { id: place.id },
        className: this.unread.has(place.id) ? "unread" : "",
        "aria-current": place.id === this.current ? "true" : null,
        onclick: () => this.onOpen(place.id),
      },
      picture,
      place.label,
      this.unread.has(place.id) && el("span", { className: "unseen" }, " (new messages)"),
    );
  }
}
