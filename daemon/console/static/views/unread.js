// Threads with news since this browser last opened them.

const KEY = "read";
const KEPT = 500;

export class Unread {
  constructor() {
    const { from = null, threads = {} } = read();
    this.from = from;
    this.threads = threads;
  }

  /** Who comes for the first time has seen all that was there; so has who comes to another journal. */
  begin(newest) {
    if (this.from !== null && this.from <= newest) return;
    this.from = newest;
    this.threads = {};
    this.keep();
  }

  is({ thread, last }) {
    return last > Math.max(this.from ?? 0, this.threads[thread] ?? 0);
  }

  see({ thread, last }) {
    if (!this.is({ thread, last })) return;
    delete this.threads[thread];
    this.threads[thread] = last;
    const kept = Object.entries(this.threads).slice(-KEPT);
    this.threads = Object.fromEntries(kept);
    this.keep();
  }

  keep() {
    localStorage.setItem(KEY, JSON.stringify({ from: this.from, threads: this.threads }));
  }
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}
