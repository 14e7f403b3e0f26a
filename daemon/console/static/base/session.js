// The session of this browser. Its secret stays in the storage of this origin, which no other port can read, and is
// sent as a header.

const ADDRESS = "/console/session";
const KEY = "session";

/** Sign in with the token of a link, or the lasting one; gives what was wrong, or nothing. */
export async function signIn(token) {
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(ADDRESS, { method: "POST", headers, body: JSON.stringify({ token }) });
    const { session, error } = await answer.json();
    if (!session) return error;
    localStorage.setItem(KEY, session);
    return "";
  } catch {
    return "The daemon does not answer, or this browser keeps nothing for this page.";
  }
}

/** Has this browser a session, as far as it knows? */
export function isSignedIn() {
  return localStorage.getItem(KEY) !== null;
}

/** End the session, here and in the daemon. */
export async function signOut() {
  const answer = await request(ADDRESS, { method: "DELETE" });
  if (answer.ok) forget();
}

/** Ask the daemon, as this session. Where that is over, the page says how to come in. */
export async function request(address, options = {}) {
  const secret = localStorage.getItem(KEY);
  const shown = secret === null ? {} : { "X-Console-Token": secret };
  const answer = await fetch(address, { ...options, headers: { ...shown, ...options.headers } });
  if (answer.status === 401) forget(secret);
  return answer;
}

/** Another window may have signed in again meanwhile: that session stays. */
function forget(secret = localStorage.getItem(KEY)) {
  if (secret === localStorage.getItem(KEY)) localStorage.removeItem(KEY);
  location.reload();
}
