// Wires the three panes together, and the keys that work everywhere.

import { callTitle, callView } from "./call.js";
import { byId } from "./dom.js";
import { showConnection, showState } from "./header.js";
import { Journal } from "./journal.js";
import { Workspace } from "./workspace.js";

let due = 0;

const journal = new Journal({
  onCall: openCall,
  onEntry: (entry) => entry.kind === "model-call" && refreshSoon(),
  onConnection: (up) => {
    showConnection(up);
    if (up) refresh();
  },
});

async function refresh() {
  const state = await (await fetch("/console/state")).json();
  showState(state);
  return state;
}

/** Many entries at once ask for one look at the purse. */
function refreshSoon() {
  clearTimeout(due);
  due = setTimeout(refresh, 150);
}

async function openCall(seq) {
  const answer = await fetch(`/console/calls/${seq}`);
  if (!answer.ok) return;
  const call = await answer.json();
  byId("call-title").textContent = callTitle(call.entry);
  byId("call-body").replaceChildren(...callView(call).filter(Boolean));
  byId("call-body").scrollTop = 0;
  cover(true);
  byId("call").focus();
}

/** Beside the other panes a call covers the journal, which is then out of reach of the Tab key. */
function cover(open) {
  byId("call").hidden = !open;
  const covered = open && document.body.dataset.world === "local";
  for (const part of document.querySelectorAll("#journal > header, #entries")) part.inert = covered;
}

function closeCall() {
  cover(false);
  journal.refocus();
}

function showJournal(open) {
  document.body.classList.toggle("journal-open", open);
  byId("journal-toggle").setAttribute("aria-expanded", String(open));
  if (open) journal.toEnd();
}

/** In the journal from entry to entry; in an open call from call to call. */
function move(step) {
  if (byId("call").hidden) return journal.move(step);
  const seq = journal.move(step, "[data-kind='model-call']");
  return seq && openCall(seq);
}

function onKey(event) {
  const writing = event.target.closest("textarea, input:not([type='radio'])");
  if (event.key === "Escape" && !byId("call").hidden) closeCall();
  else if (event.key === "Escape") showJournal(false);
  if (writing || event.ctrlKey || event.metaKey || event.altKey ) return;
  if (event.key === "j") move(1);
  if (event.key === "k") move(-1);
}

byId("call-close").addEventListener("click", closeCall);
byId("filter").addEventListener("change", (event) => journal.show(event.target.value));
byId("journal-toggle").addEventListener("click", () => showJournal(!document.body.classList.contains("journal-open")));
document.addEventListener("keydown", onKey);

const { rehearsed } = await refresh();
document.body.dataset.world = rehearsed.workspace ? "local" : "none";
journal.follow();
if (rehearsed.workspace) await new Workspace({ onThread: (key) => journal.openThread(key) }).start();
