// Requests to the daemon. An unreachable daemon raises `Unreachable`; it is no error of the page.

import { request } from "./session.js";

export class Unreachable extends Error {}

/** Send these bytes there. Were they taken? */
export async function put(address, body) {
  try {
    return (await request(address, { method: "POST", body })).ok;
  } catch {
    throw new Unreachable("the daemon cannot be reached");
  }
}

/** The JSON that this address answers with. */
export async function ask(address, options) {
  try {
    return await (await request(address, options)).json();
  } catch {
    throw new Unreachable("the daemon cannot be reached");
  }
}

export class Wish {
  /** This is wanted from now on, and nothing that was before; returns what tells whether it still is. */
  begin() {
    const mine = (this.now = {});
    return () => this.now === mine;
  }
}
