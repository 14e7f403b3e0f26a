// A plain Slack client: the Web API with one person's token, and their live events.

import { live } from "../base/live_events.js";
import { ask, put } from "../base/request.js";

export class Refused extends Error {}

/** What people do that no method of Slack's does: `press` a button, `stop` an agent, `submit` a modal. */
export async function gesture(name, args) {
  const body = await ask(`/rehearsal/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(args),
  });
  if (!body.ok) throw new Refused(body.error);
  return body;
}

export class Slack {
  constructor(token) {
    this.token = token;
  }

  /** One Web API call; throws Refused with Slack's error code, or Unreachable. */
  async call(method, args = {}) {
    const body = await ask(`/api/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json; charset=utf-8", Authorization: `Bearer ${this.token}` },
      body: JSON.stringify(args),
    });
    if (!body.ok) throw new Refused(body.error);
    return body;
  }

  /** Say something with these files, as one message; its ts. */
  async share(files, { channel, text, thread_ts }) {
    const sent = await Promise.all(files.map((file) => this.upload(file)));
    const said = { files: sent, channel_id: channel, initial_comment: text, thread_ts };
    const { files: shared } = await this.call("files.completeUploadExternal", said);
    const places = Object.assign({}, ...Object.values(shared[0].shares));
    return places[channel].at(-1).ts;
  }

  /** Bring one file there; who completes the upload names it so. */
  async upload(file) {
    const { name, size } = file;
    const { upload_url, file_id } = await this.call("files.getUploadURLExternal", { filename: name, length: size });
    if (!(await put(new URL(upload_url).pathname, file))) throw new Refused(`${name} was not taken`);
    return { id: file_id, title: name };
  }

  /** All pages of a list. */
  async all(method, field, args = {}) {
    const found = [];
    let cursor = "";
    do {
      const page = await this.call(method, { limit: 200, ...args, cursor });
      found.push(...page[field]);
      cursor = page.response_metadata?.next_cursor ?? "";
    } while (cursor);
    return found;
  }

  /** Hear what this person sees, until the returned function is called. `onGap`: something may have been missed. */
  listen(onEvent, onGap) {
    const address = `/rehearsal/events?token=${encodeURIComponent(this.token)}`;
    return live(() => address, { onData: onEvent, onUp: (gap) => gap && onGap() });
  }
}
