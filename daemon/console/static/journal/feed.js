// The loaded part of the journal: it grows at both ends by pages, and at its end by new entries.

import { ask } from "../base/request.js";

/** So many entries are held: who turns to older ones lets go of the newest, and the other way round. */
const KEPT = 1000;
const PAGE = 200;

export class Feed {
  /** `address` answers with pages. `older` and `newer`: where one asks on; null where there is nothing more. */
  constructor(address) {
    this.address = address;
    this.entries = [];
    this.older = null;
    this.newer = null;
    this.busy = false;
    this.left = false;
  }

  /** Does it go as far as what happens now? */
  get live() {
    return this.newer === null;
  }

  get last() {
    return this.entries.at(-1)?.seq ?? 0;
  }

  /** Begin with the newest page, or with that around an entry; what came meanwhile follows. */
  async begin(around = null) {
    const { last } = this;
    const page = await this.page(around === null ? {} : { around });
    const came = this.entries.filter(({ seq }) => seq > Math.max(last, page.entries.at(-1)?.seq ?? 0));
    this.newer = page.newer ?? null;
    this.older = page.older ?? null;
    this.entries = this.live ? [...page.entries, ...came] : page.entries;
    if (!this.entries.length) await this.backwards();
    return page;
  }

  /** One page more of what was before. Was there any? */
  backwards() {
    return this.turn(async () => {
      do {
        const page = await this.page({ before: this.older });
        this.entries = [...page.entries, ...this.entries];
        this.older = page.older;
        if (page.entries.length) break;
      } while (this.older !== null && !this.left); // a search looks through a part of the journal at a time
      if (this.entries.length <= KEPT) return;
      this.entries.length = KEPT;
      this.newer = this.last;
    }, this.older);
  }

  /** One page more of what came after. */
  forwards() {
    return this.turn(async () => {
      const { entries, newer } = await this.page({ after: this.newer });
      this.entries.push(...entries);
      this.newer = newer;
      this.trim();
    }, this.newer);
  }

  /** Something new was written here. Is it taken in? */
  take(entry) {
    if (!this.live || entry.seq <= this.last) return false;
    this.entries.push(entry);
    this.trim();
    return true;
  }

  trim() {
    if (this.entries.length <= KEPT) return;
    this.entries = this.entries.slice(-KEPT);
    this.older = this.entries[0].seq;
  }

  async turn(load, cursor) {
    if (cursor === null || this.busy) return false;
    this.busy = true;
    try {
      await load();
    } finally {
      this.busy = false;
    }
    return true;
  }

  page(cursor) {
    const asked = new URLSearchParams({ limit: PAGE, ...cursor });
    return ask(`${this.address}${this.address.includes("?") ? "&" : "?"}${asked}`);
  }
}

/** All that was recorded under this key. */
export async function recorded(key) {
  const entries = [];
  for (let after = 0; after !== null; ) {
    const page = await ask(`/console/entries?${new URLSearchParams({ under: key, after, limit: 500 })}`);
    entries.push(...page.entries);
    after = page.newer;
  }
  return entries;
}
