// Connects the three panes, and the keys that work everywhere.

import "./base/sign_in.js"; // the page begins when somebody has come in
import { byId, goOnAt } from "./base/dom.js";
import { showKeys } from "./base/keys.js";
import { learn } from "./base/names.js";
import { openQuotations } from "./base/quotation.js";
import { ask, Unreachable, Wish } from "./base/request.js";
import { signOut } from "./base/session.js";
import { Faults } from "./chat/faults.js";
import { Tour } from "./chat/tour.js";
import { Workspace } from "./chat/workspace.js";
import { showConnection, showState } from "./header.js";
import { callTitle, callView } from "./journal/call.js";
import { comparison, earlier } from "./journal/compare.js";
import { Journal } from "./journal/journal.js";
import { crossing } from "./journal/links_to_chat.js";
import { Views } from "./views/views.js";

const STEPS = { j: 1, k: -1, G: Infinity, g: -Infinity };
const TABS = { 1: "threads", 2: "questions", 3: "people", 4: "costs", 5: "health", 6: "tools" };
/** What these entries are changes what stands in the header. */
const TOLD = new Set(["model-call", "asked", "answered", "withdrawn", "turn-ended", "forgotten"]);
/** What stands there where there is neither a link nor a local workspace. */
const HOME = "threads";
/** Milliseconds after which the header is looked at again, though nothing was written: a model may be away. */
const LOOK = 10_000;
let due = 0;
let linked = null;
const asked = location.hash.slice(1);
const SEQ = /^[0-9]{1,15}$/;
/** Where one wants to be, and which call one wants to see. */
const turning = new Wish();
const calling = new Wish();

const journal = new Journal({
  onCall: openCall,
  onChat: (message) => {
    views.close();
    return toChat(message, turning.begin());
  },
  onEntry: (entry) => {
    if (entry.body.user) learn({ [entry.body.user]: entry.body.name });
    if (TOLD.has(entry.kind)) refreshSoon();
    views.hear();
  },
  onAll: showAll,
  onForgotten: forgetCall,
  onConnection: (up) => {
    showConnection(up);
    refresh(); // also where it is refused: that says why
  },
});

const faults = new Faults();
const views = new Views({ onThread: turnToThread, onEntry: openEntry });
const workspace = new Workspace({
  onThread: (key) => views.current || journal.openThread(key), // beside a view the chat is not seen, and turns nobody
  onPlace: turnToChat,
});
const toChat = crossing(journal, workspace);
const tour = new Tour(workspace);
openQuotations((node) => workspace.keyOf(node));

async function refresh() {
  const state = await ask("/console/state");
  if (!state.rehearsed) return;
  showState(state);
  document.body.dataset.world = state.rehearsed.workspace ? "local" : "none";
  document.body.dataset.inner = state.inner ? "there" : "none";
  document.body.dataset.model = state.rehearsed.model ? "script" : "real";
  if (state.rehearsed.workspace || state.rehearsed.model) await faults.look();
  if (state.rehearsed.workspace) await workspace.start();
  if (state.rehearsed.workspace && (await workspace.renamed(state.name))) tour.forget();
  if (state.rehearsed.model) await tour.offer(state);
  linked ??= views.current ? true : openLink(asked); // who turned elsewhere meanwhile stays there
  if (!state.rehearsed.workspace && !views.current) views.show(HOME);
}

/** What stands in the header, as it is by now. */
async function lookAgain() {
  if (document.hidden) return;
  const state = await ask("/console/state");
  if (state.rehearsed) showState(state);
}

/** Many entries at once ask for one look at the purse. */
function refreshSoon() {
  clearTimeout(due);
  due = setTimeout(refresh, 150);
}

async function openCall(seq) {
  const wanted = calling.begin();
  const call = await ask(`/console/calls/${seq}`);
  if (!call.entry || !wanted()) return;
  const others = await earlier(call.entry);
  const last = others.find(({ body }) => body.role === call.entry.body.role) ?? others[0];
  const before = last ? await ask(`/console/calls/${last.seq}`) : {};
  if (!wanted()) return;
  byId("call-title").textContent = callTitle(call.entry);
  byId("call-body").replaceChildren(...callView(call, before.entry ? before : null).filter(Boolean));
  byId("call-body").scrollTop = 0;
  cover(true);
  goOnAt(byId("call"));
  const compared = comparison(call, others);
  if (compared) byId("call-body").querySelector(".tokens").after(compared);
}

/** Beside the other panes a call covers the journal, which is then out of reach of the Tab key. */
function cover(open) {
  byId("call").hidden = !open;
  for (const part of document.querySelectorAll("#journal > header, #search, #turns, #entries, #tree, #readings, #inner")) part.inert = open;
}

/** What stands in an open call may be forgotten. */
function forgetCall() {
  calling.begin(); // one that is on its way may be, too
  byId("call-body").replaceChildren();
  cover(false);
}

function closeCall() {
  cover(false);
  journal.refocus();
}

/** Who is not writing goes on at the button that opens it again. */
function closeJournal(writing) {
  showJournal(false);
  if (!writing) byId("journal-toggle").focus();
}

function showJournal(open) {
  document.body.classList.toggle("journal-open", open);
  byId("journal-toggle").setAttribute("aria-expanded", String(open));
  if (open) journal.toEnd();
}

/** What lies on top goes away. */
function closeTop(writing) {
  calling.begin(); // the call that is on its way, too
  if (faults.open) faults.show(false);
  else if (!byId("call").hidden) closeCall();
  else if (document.body.classList.contains("journal-open")) closeJournal(writing);
  else if (!views.current) workspace.conversation.closeBeside();
}

/** In the journal from entry to entry; in an open call from call to call. */
function move(step) {
  if (byId("call").hidden) return journal.move(step);
  const seq = journal.move(step, ":has(button.open)");
  return seq && openCall(seq);
}

function onKey(event) {
  const writing = event.target.closest("textarea, select, input:not([type='radio'], [type='checkbox'])");
  if (event.key === "Escape") closeTop(writing);
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in STEPS) move(STEPS[event.key]);
  if (event.key in TABS) openTab(TABS[event.key]);
  if (event.key === "0" && document.body.dataset.world === "local") workspace.visit(workspace.place);
  if (event.key === "?") showKeys();
  if (event.key === "/" && byId("words").checkVisibility()) {
    event.preventDefault();
    journal.search.focus();
  }
}

byId("keys-toggle").addEventListener("click", showKeys);
byId("sign-out").addEventListener("click", signOut);
byId("call-close").addEventListener("click", closeCall);
byId("filter").addEventListener("change", (event) => journal.show(event.target.value));
byId("journal-toggle").addEventListener("click", () => showJournal(!document.body.classList.contains("journal-open")));
document.addEventListener("keydown", onKey);

// The header says that the daemon is away; what could not be read meanwhile is read when it is back.
addEventListener("unhandledrejection", (event) => event.reason instanceof Unreachable && event.preventDefault());

/** A link to an entry, `#72`, or to a thread, `#sess-…`: its entries, and where there is a local workspace its
    place and messages; to a view, `#people`, and a thread beside it, `#threads/sess-…`; or to a place. */
async function openLink(id) {
  const wanted = turning.begin();
  const link = id || (document.body.dataset.world === "none" ? HOME : "");
  if (views.has(viewIn(link))) return openView(link);
  if (SEQ.test(id)) return openEntry(Number(id));
  if (!id.startsWith("sess-")) return workspace.follow(id);
  document.body.dataset.thread = id;
  journal.showThread();
  const { opened } = await ask(`/console/threads/${encodeURIComponent(id)}?limit=1`);
  if (!wanted()) return;
  const local = opened && document.body.dataset.world === "local";
  if (local) views.close();
  const there = local && (await workspace.goTo(opened.body.channel, opened.body.ts));
  if (!there && wanted()) await journal.openThread(id);
}

function turnToChat() {
  turning.begin();
  tour.leave();
  views.close();
}

function openTab(name) {
  turning.begin();
  views.open(name);
}

/** The view that a link begins with. */
function viewIn(link) {
  return link.split("/")[0];
}

/** A view, and the thread whose journal stands beside it; where the link names none, that of everything. */
async function openView(link) {
  const [name, thread] = link.split("/");
  if (views.current !== views.known[name]) views.show(name);
  if (thread) return openThread(thread);
  if (document.body.dataset.thread) await leaveThread();
}

/** Of all threads, not of one: beside a view the address says so, too. */
function showAll() {
  turning.begin();
  const { view } = document.body.dataset;
  if (view) history.pushState(null, "", `#${view}`);
  return leaveThread();
}

async function leaveThread() {
  delete document.body.dataset.thread;
  if (journal.filter === "thread") journal.show("turns");
  await journal.openThread(null);
  views.current?.refresh();
}

/** One turns to a thread of a view: the way back leads to where one was. */
function turnToThread(id) {
  turning.begin();
  const link = `#${document.body.dataset.view}/${id}`;
  if (location.hash !== link) history.pushState(null, "", link);
  return openThread(id);
}

/** A thread of a view: its journal, beside it. */
async function openThread(id) {
  document.body.dataset.thread = id;
  journal.showThread();
  if (!byId("journal").checkVisibility()) showJournal(true);
  await journal.openThread(id);
}

async function openEntry(seq) {
  const wanted = turning.begin();
  const thread = await journal.openEntry(seq);
  if (!wanted()) return;
  if (thread) document.body.dataset.thread = thread;
  if (!byId("journal").checkVisibility()) showJournal(true);
}

addEventListener("hashchange", ({ newURL }) => openLink(new URL(newURL).hash.slice(1))); // the address may be told anew meanwhile
setInterval(lookAgain, LOOK);
journal.follow();
if (views.has(viewIn(asked))) linked = openView(asked);
