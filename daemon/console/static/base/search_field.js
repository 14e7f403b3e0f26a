// A field that searches while somebody types: after a pause, or at once by Enter. One search runs at a time, for the
// latest words.

/** Milliseconds without a key after which it is searched. */
const PAUSE = 250;
/** Characters that the server looks for. */
const LONGEST = 200;

export class SearchField {
  /** `search(words)` may take its time; `leave()` hears that newer words wait for the one that runs to end. */
  constructor(field, { search, leave = () => {} }) {
    Object.assign(this, { field, search, leave, due: 0, running: false, waits: false, words: "" });
    field.addEventListener("input", () => this.later());
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.now();
    });
  }

  later() {
    clearTimeout(this.due);
    if (!this.field.value.trim()) return this.now();
    this.due = setTimeout(() => this.now(), PAUSE);
  }

  now() {
    clearTimeout(this.due);
    const words = this.field.value.trim();
    const long = words.length > LONGEST ? `At most ${LONGEST} characters are searched for.` : "";
    this.field.setCustomValidity(long);
    if (long) return void this.field.reportValidity();
    if (words === this.words) return;
    this.words = words;
    this.waits = this.running;
    if (this.running) this.leave();
    else this.run();
  }

  async run() {
    this.running = true;
    try {
      await this.search(this.words);
    } finally {
      this.running = false;
      if (this.waits) this.again();
    }
  }

  again() {
    this.waits = false;
    this.run();
  }

  /** The field was emptied, or filled, by the page: nothing is searched for that. */
  settle() {
    clearTimeout(this.due);
    this.waits = false;
    this.words = this.field.value.trim();
  }
}
