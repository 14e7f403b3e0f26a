// The left and middle panes together: the person who posts, what they see, and their live events.

import { byId, el, goOnAt } from "../base/dom.js";
import { avatar, learn } from "../base/names.js";
import { ask } from "../base/request.js";
import { keepThePage } from "./attachments.js";
import { Composer, escaped } from "./composer.js";
import { Conversation } from "./conversation.js";
import { showModal } from "./modal.js";
import { Places } from "./places.js";
import { Slack } from "./slack_client.js";

const KINDS = "public_channel,private_channel,mpim,im";
const CHANNELS = new Set(["channel", "private"]);
const ELSEWHERE = "you turned elsewhere meanwhile";

export class Workspace {
  /** `onThread(key)` hears which thread is open, `onPlace()` that one turns to a channel or DM. */
  constructor({ onThread, onPlace }) {
    this.onPlace = onPlace;
    this.beside = null; // the thread that is to stand beside what is opened next
    const key = (channel, ts) => ts && this.key(channel, ts);
    this.conversation = new Conversation({
      onThread: (channel, ts) => onThread(key(channel, ts)),
      onBeside: () => this.tellAddress(),
    });
    this.places = new Places({ onOpen: (id) => this.visit(id) });
  }

  /** Once, however often it is asked for; again when the daemon was away. */
  start() {
    this.started ??= this.begin().catch((error) => {
      this.started = null;
      throw error;
    });
    return this.started;
  }

  async begin() {
    this.state = await this.look();
    this.soul = this.state.soul;
    const last = this.state.people.find(({ id }) => id === localStorage.getItem("person")) ?? this.state.people[0];
    this.known = await this.meet(new Slack(last.token));
    const address = location.hash.slice(1);
    [this.place, this.beside] = addressed(address);
    this.composer = new Composer(byId("composer"), {
      send: (text, files) => this.conversation.post(text, files),
      spell: (text) => this.known.mentions(text),
      drop: byId("conversation"),
      tools: [this.people(last)],
    });
    keepThePage();
    await this.become(last);
    if (!Number(address)) goOnAt(this.composer.field); // at a link to an entry one goes on there
  }

  /** Turn to this thread, as someone who sees it; is it there? */
  async goTo(channel, ts) {
    const sees = (person) => this.sees(person, channel);
    const person = this.state.people.find((one) => one.id === this.world.me && sees(one)) ?? this.state.people.find(sees);
    if (!person) return false;
    const { conversation } = this;
    this.place = channel;
    conversation.selected = ts;
    if (conversation.beside) this.beside = ts;
    await this.turnInto(person);
    if (this.place !== channel) return false; // one has turned elsewhere
    if (!conversation.threads.has(ts)) await conversation.openBeside(ts); // it is further back than the list goes
    conversation.threads.get(ts)?.node.scrollIntoView({ block: "center" });
    return conversation.selected === ts;
  }

  /** Turn to what this address names, `#C0GENERAL` or `#C0GENERAL/179….3`, where it is a place that one sees. */
  async follow(address) {
    const [place, beside] = addressed(address);
    if (!this.all?.some(({ id }) => id === place)) return;
    this.onPlace();
    if (place === this.place && beside === this.conversation.beside) return this.tellAddress();
    if (place === this.place && !beside) return this.conversation.closeBeside();
    this.beside = beside;
    await this.open(place);
  }

  /** Say this as this person in the channel of this name, or, without one, in their DM with the soul. */
  async say(id, name, words, files) {
    await (id === this.world.me ? this.seen : this.turnInto(this.state.people.find((person) => person.id === id)));
    const place = this.all.find(({ kind, label, member }) => (name ? CHANNELS.has(kind) && label === name : member?.id === this.soul));
    if (place && place.id !== this.place) await this.open(place.id);
    if (this.world.me !== id || this.place !== place?.id) throw new Error(ELSEWHERE);
    await this.conversation.post(escaped(words), files);
  }

  /** Post as this person, and say so in the composer. */
  async turnInto(person) {
    byId("composer").querySelector(`[value="${person.id}"]`).checked = true;
    await this.become(person);
  }

  look() {
    return ask("/rehearsal/state");
  }

  /** Who there is, whoever looks. */
  async meet(slack) {
    const users = await slack.all("users.list", "members");
    const names = Object.fromEntries(users.map(({ id, profile, real_name }) => [id, profile.display_name || real_name]));
    learn(names);
    const members = Object.fromEntries(Object.entries(names).map(([id, name]) => [id, { id, name }]));
    return { members, names, soul: this.soul, mentions: (text) => mentions(text, names) };
  }

  /** The soul is called so now: whoever looks sees it by that name, also where it stood before. Was that news? */
  async renamed(name) {
    if (this.called === name || this.known.names[this.soul] === name) return false;
    this.called = name; // looked for once, whatever the workspace says
    this.known = await this.meet(this.world.slack);
    await this.become(this.state.people.find(({ id }) => id === this.world.me));
    return true;
  }

  /** Is this a channel or DM that this person sees? */
  sees({ id }, channel) {
    const there = this.state.channels.find((one) => one.id === channel);
    return there?.kind === "channel" || this.members(channel).includes(id);
  }

  /** Post as this person from now on, and see what they see. */
  async become(person) {
    this.hush?.();
    if (this.all && this.world.me !== person.id) this.leaveWhatIsNotOf(person);
    localStorage.setItem("person", person.id);
    const slack = new Slack(person.token);
    this.world = { ...this.known, slack, me: person.id };
    this.conversation.postAs(this.world);
    this.hush = slack.listen((event) => this.hear(event), () => this.see());
    this.seen = this.see();
    await this.seen;
  }

  /** What the next person does not see is gone at once: nobody turns to it, or writes there. */
  leaveWhatIsNotOf(person) {
    this.all = this.all.filter(({ id }) => this.sees(person, id));
    this.places.forget();
    this.places.show(this.all, this.soul);
    if (this.sees(person, this.place)) return;
    this.composer.rest();
    this.conversation.leave();
  }

  /** Read anew what this person sees, and stay where one is. */
  async see() {
    const { world } = this;
    await this.load();
    if (this.world !== world) return;
    const same = this.all.find(({ id }) => id === this.place);
    const soul = this.all.find(({ member }) => member?.id === this.soul);
    await this.open((same ?? soul).id);
  }

  async load() {
    const { world } = this;
    const channels = await world.slack.all("conversations.list", "channels", { types: KINDS });
    if (channels.some(({ id }) => !this.members(id).length)) this.state.channels = (await this.look()).channels;
    if (this.world !== world) return;
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
    const own = "Each message starts a thread. The answer appears below it.";
    if (member) return { id: channel.id, kind: "dm", member, label: member.name, about: member.name === soul ? own : "" };
    const shared = `Mention @${soul} to get an answer. From then on it follows the thread.`;
    if (channel.is_mpim) return { ...this.group(channel), about: shared };
    const kind = channel.is_private ? "private" : "channel";
    return { id: channel.id, kind, label: channel.name, about: channel.is_private ? `Private. ${shared}` : shared };
  }

  /** A group DM is called by those who are in it, but for whoever looks. */
  group({ id }) {
    const others = this.members(id).filter((member) => member !== this.world.me);
    return { id, kind: "group", size: others.length + 1, label: others.map((member) => this.world.names[member] ?? "someone").join(", ") };
  }

  members(channel) {
    return this.state.channels.find(({ id }) => id === channel)?.members ?? [];
  }

  visit(id) {
    this.onPlace();
    return this.open(id);
  }

  async open(id) {
    const place = this.all.find((one) => one.id === id);
    const { beside } = this;
    this.place = id;
    this.beside = null;
    this.places.select(id);
    this.composer.turnTo(id, `Message ${place.kind === "channel" ? "#" : ""}${place.label}`);
    const here = ({ channel }) => channel === id;
    const statuses = this.look().then((state) => [...state.statuses, ...state.sessions].filter(here));
    await this.conversation.open(place, this.world, statuses, beside);
    this.tellAddress();
  }

  /** The address says where one is, unless that is one of the views. */
  tellAddress() {
    if (document.body.dataset.view) return;
    const parts = [this.place, this.conversation.beside].filter(Boolean);
    history.replaceState(null, "", `#${parts.join("/")}`);
  }

  key(channel, ts) {
    return `${this.state.team}:${channel}:${ts}`;
  }

  /** The key of the thread in which this part of a message stands; null where it stands in none. */
  keyOf(node) {
    const ts = node.closest(".thread")?.dataset.ts;
    return ts ? this.key(this.place, ts) : null;
  }

  /** The message of this ts, in sight from now on; null where it does not stand here. */
  reveal(ts) {
    return this.conversation.reveal(ts);
  }

  hear(event) {
    if (event.type === "view") showModal(event.view, this.world.me);
    else if (event.type === "channel") this.load();
    else if (event.type === "renewed") this.see();
    else if (event.channel === this.place) this.conversation.hear(event);
    else if (event.type === "message") this.places.mark(event.channel);
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

/** The place of an address, and the root of the thread that stands beside it, or null. */
function addressed(address) {
  const [place, ts = null] = address.split("/");
  return [place, ts];
}

/** What Slack's own clients do with "@Name": the id in its place. A name may hold any sign. */
export function mentions(text, names) {
  const literally = (name) => escaped(name).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return Object.entries(names).reduce(
    (sofar, [id, name]) => sofar.replaceAll(new RegExp(`@${literally(name)}(?![\\w-])`, "gi"), `<@${id}>`),
    text,
  );
}
