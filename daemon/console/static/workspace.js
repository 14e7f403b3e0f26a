// The left and middle panes together: who one posts as, what they see, and the live events of it.

import { avatar } from "./avatar.js";
import { composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, el } from "./dom.js";
import { Places } from "./places.js";
import { Slack } from "./slack.js";

const KINDS = "public_channel,private_channel,mpim,im";

export class Workspace {
  constructor({ onThread }) {
    const key = (channel, ts) => ts && `${this.state.team}:${channel}:${ts}`;
    this.conversation = new Conversation({ onThread: (channel, ts) => onThread(key(channel, ts)) });
    this.places = new Places({ onOpen: (id) => this.open(id) });
  }

  async start() {
    this.state = await this.look();
    this.soul = this.state.soul;
    const last = this.state.people.find(({ id }) => id === localStorage.getItem("person")) ?? this.state.people[0];
    this.drawComposer(last);
    await this.become(last);
    this.field.focus();
  }

  async look() {
    return (await fetch("/rehearsal/state")).json();
  }

  /** Post as this person from now on, and see what they see. */
  async become(person) {
    this.hush?.();
    this.person = person;
    localStorage.setItem("person", person.id);
    const slack = new Slack(person.token);
    const users = await slack.all("users.list", "members");
    const names = Object.fromEntries(users.map(({ id, profile, real_name }) => [id, profile.display_name || real_name]));
    const members = Object.fromEntries(Object.entries(names).map(([id, name]) => [id, { id, name }]));
    this.world = { slack, members, names, soul: this.soul, mentions: (text) => mentions(text, names) };
    this.hush = slack.listen((event) => this.hear(event), () => this.open(this.place));
    await this.load();
    const same = this.all.find(({ id }) => id === this.place);
    const soul = this.all.find(({ member }) => member?.id === this.soul);
    await this.open((same ?? soul).id);
  }

  async load() {
    const channels = await this.world.slack.all("conversations.list", "channels", { types: KINDS });
    this.all = channels.filter((channel) => this.lives(channel)).map((channel) => this.describe(channel));
    this.places.show(this.all, this.soul);
    if (this.place) this.places.select(this.place);
  }

  /** Channels one is in, and DMs unless with an app that is not there. */
  lives(channel) {
    const app = this.state.apps.find(({ user }) => user === channel.user);
    return channel.is_im ? !app || app.sockets > 0 || app.user === this.soul : channel.is_member;
  }

  describe(channel) {
    const member = channel.is_im ? this.world.members[channel.user] : null;
    const soul = this.world.names[this.soul];
    const own = "Each message begins a thread; the answer stands beneath it";
    if (member) return { id: channel.id, member, label: member.name, about: member.name === soul ? own : "" };
    const shared = `Mention @${soul} to be answered; after that it follows the thread`;
    return { id: channel.id, label: channel.name, about: shared };
  }

  async open(id) {
    const place = this.all.find((one) => one.id === id);
    this.place = id;
    this.places.select(id);
    this.field.placeholder = place.member ? `Message ${place.label}` : `Message #${place.label}`;
    const { statuses } = await this.look();
    await this.conversation.open(place, this.world, statuses.filter(({ channel }) => channel === id));
  }

  hear(event) {
    if (event.type === "channel") this.load();
    else if (event.channel === this.place) this.conversation.hear(event);
    else if (event.type === "message") this.places.mark(event.channel);
  }

  drawComposer(person) {
    const { field, submit, nodes } = composer({
      label: "Message",
      send: (text) => this.conversation.post(text),
      tools: [this.people(person)],
    });
    this.field = field;
    byId("composer").append(...nodes);
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
  }

  people(current) {
    const choice = (person) => {
      const onchange = () => this.become(person);
      const checked = person === current;
      return el(
        "label",
        {},
        el("input", { type: "radio", name: "person", value: person.id, checked, onchange }),
        el("span", { className: "who" }, avatar(person, { small: true }), person.name),
      );
    };
    return el("fieldset", { className: "people" }, el("legend", {}, "Post as"), this.state.people.map(choice));
  }
}

/** What Slack's own clients do with "@Name": the id in its place. */
function mentions(text, names) {
  return Object.entries(names).reduce(
    (sofar, [id, name]) => sofar.replaceAll(new RegExp(`@${name}(?![\\w-])`, "gi"), `<@${id}>`),
    text,
  );
}
