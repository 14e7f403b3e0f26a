// Links from a message in the conversation to its turn, and back.

import { flash } from "../base/dom.js";
import { rootOf } from "../base/names.js";
import { ask } from "../base/request.js";

/** From now on a click on a message leads to its turn; returns what leads back:
    `toChat({ts, thread}, wanted)`, while `wanted()`. */
export function crossing(journal, workspace) {
  document.querySelector("main").addEventListener("click", ({ target }) => {
    const message = target.closest(".message[data-ts]");
    if (!message || target.closest("a, button, summary, input, textarea") || !getSelection().isCollapsed) return;
    journal.toMessage(message.dataset.ts);
  });
  return (message, wanted) => toChat(workspace, message, wanted);
}

async function toChat(workspace, { ts, thread }, wanted) {
  const message = workspace.reveal(ts) ?? (await elsewhere(workspace, ts, thread, wanted));
  if (!message) return;
  document.body.classList.remove("journal-open");
  message.scrollIntoView({ block: "center" });
  flash(message);
}

/** In another place than the one that is shown: there. */
async function elsewhere(workspace, ts, thread, wanted) {
  const { opened } = await ask(`/console/threads/${encodeURIComponent(rootOf(thread))}?limit=1`);
  if (!wanted()) return null;
  if (opened) await workspace.goTo(opened.body.channel, opened.body.ts);
  return workspace.reveal(ts);
}
