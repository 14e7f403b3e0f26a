// Questions to the daemon. That it is away has one name here, and is no error of the page.

export class Unreachable extends Error {}

/** Send these bytes there. Were they taken? */
export async function put(address, body) {
  try {
    return (await fetch(address, { method: "POST", body })).ok;
  } catch {
    throw new Unreachable("the daemon cannot be reached");
  }
}

/** The JSON that this address answers with. Where the token is another one by now, the page asks for it. */
export async function ask(address, options) {
  try {
    const answer = await fetch(address, options);
    if (answer.status === 401) location.reload();
    return await answer.json();
  } catch {
    throw new Unreachable("the daemon cannot be reached");
  }
}
