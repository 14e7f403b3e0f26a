// Signing in: a link's token becomes a session; without one the page says how to come in. main.js waits for it.

import { byId } from "./dom.js";
import { isSignedIn, signIn } from "./session.js";

/** Take what the link brought out of the address, before anything else is asked. */
function brought() {
  const token = new URLSearchParams(location.search).get("token");
  if (location.search) history.replaceState(null, "", `/${location.hash}`);
  return token;
}

/** Say how to come in, until somebody does. */
function wait(wrong) {
  document.body.classList.add("outside");
  byId("door").hidden = false;
  tell(wrong);
  return new Promise((come) => {
    byId("door-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const given = byId("token").value;
      byId("token").value = "";
      tell(await signIn(given));
      if (isSignedIn()) come();
    });
  });
}

function tell(wrong) {
  byId("door-wrong").textContent = wrong;
  byId("door-wrong").hidden = !wrong;
  byId("token").focus();
}

function open() {
  byId("door").hidden = true;
  document.body.classList.remove("outside");
}

// Who signs out in one window is out in all of them.
addEventListener("storage", ({ key, newValue }) => key === "session" && newValue === null && location.reload());

const token = brought();
const wrong = token === null ? "" : await signIn(token);
// a link that is used up leads in, too, where one was let in before
if (!isSignedIn()) await wait(wrong && `The link does not open the page. ${wrong}`);
open();
