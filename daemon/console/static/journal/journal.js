// The right pane: the soul's journal as it grows, of all threads or of the open one, as turns, as trees or as entries;
// and its search.

import { byId } from "../base/dom.js";
import { News } from "../base/list_ends.js";
import { live } from "../base/live_events.js";
import { isUnder, rootOf } from "../base/names.js";
import { ask, Wish } from "../base/request.js";
import { Inner } from "../inner_life/inner_life.js";
import { Cards } from "./cards.js";
import { Feed, recorded } from "./feed.js";
import { firstOf, Scope, Search } from "./scope.js";
import { Timeline } from "./timeline.js";
import { Shelf } from "../trees/readings_list.js";
import { pathOf, pathsTo } from "../trees/readings_tree.js";
import { Tree } from "../trees/tree.js";

const NOTHING = {
  all: "Nothing has happened yet.",
  thread: "The soul has written nothing about this thread.",
  everywhere: "Nothing was found in any thread.",
  here: "Nothing was found in this thread.",
};
/** So many entries are sent at the most when the page comes back; else only the last hundreds. */
const BEHIND = 1000;
const EVERYTHING = "/console/entries";
/** What shows all threads, whichever is open. */
const OF_ALL = new Set(["all", "inner"]);
const NO_THREAD = Object.freeze({ key: null, id: null, opened: null, first: null, feed: new Feed("") });
const ofThread = (key) => `/console/threads/${encodeURIComponent(key)}`;

export class Journal {
  /** `onCall(seq)` is asked to open a model call, `onChat({ts, thread})` to show a message where it was said;
      `onEntry(entry)` hears each new entry; `onAll()` is asked to show all threads; `onForgotten()`: words may
      have been forgotten. */
  constructor({ onCall, onChat, onEntry, onConnection, onAll, onForgotten }) {
    this.onCall = onCall;
    this.onForgotten = onForgotten;
    this.onEntry = onEntry;
    this.onConnection = onConnection;
    this.news = new News({ onPress: () => this.toNewest() });
    const ends = {
      onEnd: (name) => this.further(name),
      onNewest: () => this.toNewest(),
      onNews: (count) => this.news.add(count),
    };
    this.lines = new Timeline({ onPress: (button, row) => this.press(button, row), ...ends });
    const openers = {
      onCall,
      onReading: (seq) => this.toReading(seq),
      onWhole: (reading) => this.bringReading(reading),
      onOlder: () => this.further("older"),
    };
    const turns = new Cards({ ...openers, ...ends, onChat });
    this.trees = { turns, thoughts: new Tree(openers), readings: new Shelf(openers), inner: new Inner(openers) };
    this.search = new Search({ onSearch: (words) => this.find(words), onLeave: () => this.leaveSearch(), onEverywhere: () => this.show("all") });
    this.scope = new Scope({ onAll });
    this.last = null;
    this.all = new Feed(EVERYTHING);
    this.open = NO_THREAD;
    this.found = null;
    this.sought = null;
    this.filter = "turns";
    this.turning = new Wish();
    this.looking = new Wish();
    this.unfold();
  }

  follow() {
    this.render();
    live(() => `/console/journal?most=${BEHIND}${this.last ? `&since=${this.last.seq}` : ""}`, {
      onData: (entry) => this.take(entry),
      onThought: (news) => this.trees.turns.think(news),
      onUp: () => this.connect(true),
      onDown: () => this.connect(false),
    });
  }

  /** What is thought at this moment is told anew whenever the daemon is there again. */
  connect(up) {
    this.trees.turns.forgetThoughts();
    this.onConnection(up);
  }

  /** Show a conversation under "This thread", from its end or around an entry; its key is team:channel:root ts,
      or its id. */
  openThread(key, around = null) {
    if (this.open.key !== key || around !== null) {
      this.turning.begin();
      this.opening = this.beginThread(key, around);
    }
    return this.opening;
  }

  async beginThread(key, around) {
    const open = { ...NO_THREAD, key, feed: new Feed(key && ofThread(key)) };
    this.turnTo(open);
    if (key === null) return;
    const { thread, opened } = await open.feed.begin(around).catch((error) => this.close(open, error));
    if (this.open !== open) return;
    open.id = thread ?? open.id;
    open.opened ??= opened;
    open.first ??= await firstOf(open.feed, opened);
    if (this.open !== open) return;
    for (const entry of this.all.entries) if (open.id && isUnder(entry.thread, open.id)) open.feed.take(entry);
    this.turnTo(open);
  }

  /** Turn to this entry in its conversation, or among all where it belongs to none; gives its thread. */
  async openEntry(seq) {
    const wanted = this.turning.begin();
    const { entries } = await ask(`${EVERYTHING}?around=${seq}&limit=1`);
    const entry = entries?.find((one) => one.seq === seq);
    if (!entry || !wanted()) return null;
    this.search.clear();
    this.found = null;
    const opened = this.openThread(rootOf(entry.thread), seq);
    const { open } = this;
    await opened;
    if (this.open !== open) return null;
    if (!this.open.id) {
      this.open = NO_THREAD; // it is of no conversation: it stands among all
      this.all = new Feed(EVERYTHING);
      await this.all.begin(seq);
      this.fill();
    }
    this.show("turns");
    if (this.trees.turns.goTo(seq)) return this.open.id;
    this.show(this.open.id ? "thread" : "all");
    this.lines.goTo(seq);
    return this.open.id;
  }

  /** Show the turn in which this message of the open thread was heard or said, where turns are shown. */
  async toMessage(ts) {
    const { turns } = this.trees;
    if (this.tree !== turns || !byId("journal").checkVisibility()) return;
    const wanted = this.turning.begin();
    await this.opening;
    const seq = turns.messageAt(ts) ?? (await this.seqAt(ts));
    if (seq && wanted() && !turns.point(seq)) await this.openEntry(seq);
  }

  /** Where this message stands in the open thread, however long ago. */
  async seqAt(ts) {
    if (!this.open.id) return null;
    const { entries } = await ask(`/console/search?${new URLSearchParams({ words: ts, thread: this.open.id })}`);
    return entries?.find(({ kind, body }) => body.ts === ts && (kind === "message" || kind === "spoken"))?.seq ?? null;
  }

  turnTo(open) {
    this.open = open;
    this.fill();
    if (this.filter === "thread" && !this.found) this.render();
  }

  /** What could not be read is read when it is opened again. */
  close(open, error) {
    if (this.open === open) this.open = NO_THREAD;
    throw error;
  }

  /** Its newest entry in sight: for a list that was hidden. */
  toEnd() {
    this.lines.toEnd();
    this.tree?.toEnd();
  }

  /** The tree that is shown, where one is. */
  get tree() {
    return this.found ? null : this.trees[this.filter];
  }

  /** What the trees are made from. */
  get source() {
    return this.open.key === null ? this.all : this.open.feed;
  }

  /** What the list shows. */
  get shown() {
    return this.found ?? (this.filter === "all" ? this.all : this.open.feed);
  }

  /** What is in sight, be it a list or a tree. */
  get inSight() {
    return this.tree ? this.source : this.shown;
  }

  /** The trees begin anew, or, where there is more of the same, go on. */
  fill(more = false) {
    this.scope.show(this.open);
    const { entries, older, live } = this.source;
    const held = { one: this.open.key !== null, older: older !== null, newer: !live, more };
    for (const tree of Object.values(this.trees)) tree.fill(entries, held);
  }

  /** One came to an end of what is shown: it goes on there. */
  async further(end) {
    const feed = this.inSight;
    const there = await (end === "older" ? feed.backwards() : feed.forwards());
    if (there && feed === this.source) this.fill(true);
    if (there && feed === this.shown && !this.tree) this.lines.refresh();
    this.search.tell(this.found);
  }

  /** From among old entries to what happens now. */
  async toNewest() {
    const feed = this.inSight;
    if (!feed.live) await feed.begin();
    if (feed === this.source) this.fill(feed.live);
    if (feed !== this.inSight) return;
    this.render();
    this.news.clear();
    this.toEnd();
    this.move(Infinity);
  }

  /** Is a search of the thread that is open, and not of all? */
  get searchesHere() {
    return this.filter === "thread" && this.open.id !== null;
  }

  /** Show what holds these words, in any thread or in the one that is shown; no words: what was shown before. */
  async find(words) {
    this.leaveSearch();
    const wanted = this.looking.begin();
    const thread = this.searchesHere ? { thread: this.open.id } : {};
    const found = words ? new Feed(`/console/search?${new URLSearchParams({ words, ...thread })}`) : null;
    this.sought = found;
    if (found) await found.begin();
    if (words !== this.search.words || !wanted()) return;
    this.found = found;
    this.search.tell(found);
    this.unfold();
  }

  /** What is looked for further back is not wanted any more. */
  leaveSearch() {
    this.looking.begin();
    for (const feed of [this.found, this.sought]) if (feed) feed.left = true;
  }

  /** Turn to the reading that begins with this entry, in its conversation. */
  async toReading(seq) {
    const entry = [...this.shown.entries, ...this.source.entries].find((one) => one.seq === seq);
    this.search.clear();
    this.found = null;
    this.show("readings");
    await this.bringReading(entry);
  }

  /** Beside what is shown, all that belongs to the execution of this reading. */
  async bringReading({ key }) {
    const { source } = this;
    const brought = await recorded(pathOf(pathsTo({ key })[0]));
    if (source !== this.source) return;
    this.trees.readings.bring(brought, source.entries);
    this.trees.readings.goTo({ key });
  }

  show(filter) {
    this.filter = filter;
    byId("filter").querySelector(`[value="${filter}"]`).checked = true;
    if (this.trees[filter] && filter !== "turns") this.found = this.search.clear();
    if (this.found) this.find(this.search.words);
    else this.unfold();
  }

  /** Where what is shown is not of the thread that is open, turn to its turns. */
  showThread() {
    if (this.filter === "all" || this.filter === "inner") this.show("turns");
  }

  unfold() {
    this.lines.list.hidden = Boolean(this.tree);
    for (const tree of Object.values(this.trees)) tree.show(tree === this.tree);
    this.news.watch(this.tree?.list ?? this.lines.list);
    this.render();
  }

  take(entry) {
    if (entry.seq === this.last?.seq && entry.key === this.last.key) return;
    if (this.last && entry.seq <= this.last.seq) this.forget();
    const gap = this.last && entry.seq > this.last.seq + BEHIND / 2;
    this.last = entry;
    if (!this.all.entries.length && this.all.live) this.all.older = entry.seq > 1 ? entry.seq : null;
    if (this.open.key && entry.key === `thread:${this.open.key}`) Object.assign(this.open, { id: entry.thread, opened: entry });
    const here = this.open.id !== null && isUnder(entry.thread, this.open.id);
    if (here && !this.open.first && entry.kind === "message") this.scope.show(Object.assign(this.open, { first: entry }));
    if (!this.inSight.live && (here || !this.open.key)) this.news.add(1);
    const taken = new Set([this.all.take(entry) && this.all, here && this.open.feed.take(entry) && this.open.feed]);
    if (taken.has(this.shown) && !this.tree) this.lines.add(entry);
    this.trees.turns.older = this.source.older !== null;
    if (taken.has(this.source)) for (const tree of Object.values(this.trees)) tree.take(entry);
    this.trees.inner.hear(entry);
    if (entry.kind === "erased" || gap) this.renew();
    this.onEntry(entry);
  }

  /** The daemon began another journal: what was shown is not of this one. */
  forget() {
    this.all = new Feed(EVERYTHING);
    this.trees.inner.forget();
    this.turnTo({ ...this.open, feed: new Feed(this.open.key && ofThread(this.open.key)) });
    this.render();
  }

  /** Words were forgotten: they must not stand here either. Or so much happened while the page was hidden that it
      was not sent all of it, and some may have been. */
  async renew() {
    this.onForgotten();
    for (const feed of new Set([this.all, this.open.feed, this.found])) if (feed?.address) await feed.begin();
    this.fill();
    this.render();
  }

  render() {
    this.lines.list.dataset.filter = this.filter;
    this.search.say(this.searchesHere);
    this.scope.line.hidden = Boolean(this.found) || OF_ALL.has(this.filter);
    if (!this.tree) this.lines.show(this.shown, this.found ? (this.searchesHere ? NOTHING.here : NOTHING.everywhere) : NOTHING[this.filter]);
  }

  press(button, { dataset }) {
    if (button?.matches(".open")) this.onCall(Number(dataset.seq));
    else if (button?.matches(".to-reading")) this.toReading(Number(dataset.seq));
  }

  move(step, among = "") {
    return this.tree ? this.tree.move(step, among) : this.lines.move(step, among);
  }

  /** Back to the entry that one came from. */
  refocus() {
    (this.tree ?? this.lines).refocus();
  }
}
