// Questions to the daemon. That it is away has one name here, and is no error of the page.

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
