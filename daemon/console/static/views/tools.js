// The tools of MCP servers: how each server stands, what it offers, standing approvals, and changes that wait.

import { announce, el, redraw } from "../base/dom.js";
import { count, full, seconds, several, since, when } from "../base/format.js";
import { ask, Unreachable } from "../base/request.js";

const STATES = { starting: "starting", ready: "ready", away: "away", "needs consent": "has to be connected", off: "off" };
const HEADERS = { "Content-Type": "application/json" };

export class Tools {
  title = "Tools";
  about = "What the soul can use beyond Slack, and what it may do without asking";
  tools = [];

  constructor({ onEntry }) {
    this.onEntry = onEntry;
    this.body = el("div", { className: "cards" });
    /** Names of servers whose tools are unfolded: they stay so when the view is drawn anew. */
    this.unfolded = new Set();
    this.refused = "";
  }

  async refresh() {
    const { servers, approvals, changes, faults } = await ask("/console/tools");
    if (!servers) return;
    redraw(
      this.body,
      this.refused && el("p", { className: "refused", role: "alert" }, this.refused),
      ...faults.map((fault) => el("p", { className: "refused" }, fault)),
      ...changes.map((change) => this.change(change)),
      ...(servers.length ? servers.map((server) => this.server(server)) : [el("p", { className: "empty" }, "No tools are configured: write mcp.json beside playbooks/.")]),
      ...(approvals.length ? [el("h3", {}, "May be used without asking"), el("ul", { className: "notes" }, approvals.map((one) => this.approval(one)))] : []),
      servers.length > 0 && el("p", { className: "note" }, "Whoever may talk to the soul where a server is offered acts with the credentials of that server."),
    );
  }

  server(server) {
    const { name, state, why, protocol, tools, left_out: left } = server;
    const list = el("details", { className: "tools-of-server", open: this.unfolded.has(name), ontoggle: ({ target }) => this.unfolded[target.open ? "add" : "delete"](name) });
    list.append(el("summary", { dataset: { key: `tools ${name}` } }, several(tools.length, "tool")), el("ul", { className: "notes" }, tools.map(toolLine), Object.entries(left).map(leftOut)));
    return el(
      "article",
      { className: state === "ready" ? "question" : "question open", dataset: { server: name } },
      el("p", { className: "by" }, el("b", {}, name), el("span", { className: "chip", dataset: { state } }, STATES[state] ?? state), server.since > 0 && el("time", { title: full(server.since) }, `for ${since(server.since)}`)),
      why && el("p", { className: "refused" }, why),
      el("p", { className: "note" }, figures(server, protocol)),
      state === "needs consent" && el("button", { type: "button", className: "press", dataset: { key: `connect ${name}` }, onclick: () => this.connect(name) }, "Connect"),
      (tools.length > 0 || Object.keys(left).length > 0) && list,
    );
  }

  change({ tool, digest, difference, new: isNew, invisible, list }) {
    return el(
      "article",
      { className: "question open", dataset: { tool } },
      el("p", { className: "by" }, el("b", {}, tool), isNew ? " is new" : " was changed by its server"),
      el("pre", { className: "difference", tabIndex: 0, role: "group", "aria-label": `How ${tool} is different` }, difference),
      el("p", { className: "note" }, invisible > 0 && `${several(invisible, "invisible character")} removed. `, "It is not offered until you allow it."),
      el("button", { type: "button", className: "press", dataset: { key: `use ${tool}` }, onclick: () => this.send("/console/tools/accepted", { tool, digest }, `${tool} may be used.`) }, "Use it"),
      el("button", { type: "button", className: "link", dataset: { key: list }, onclick: () => this.onEntry(list) }, "Show the list in the journal"),
    );
  }

  approval({ number, tool, place, name, by, at }) {
    const off = () => this.send(`/console/tools/approvals/${number}`, { off: true }, `${tool} is asked about again.`);
    return el(
      "li",
      {},
      el("b", {}, tool),
      ` in ${place || "a direct message"}, as ${name || by} allowed `,
      el("time", { title: full(at) }, when(at)),
      " · ",
      el("button", { type: "button", className: "link", dataset: { key: `off ${number}` }, onclick: off }, "Ask again from now on"),
    );
  }

  async send(address, body, done) {
    this.refused = "";
    const answer = await post(address, body);
    if (answer.ok) announce(done);
    else this.refused = answer.error;
    await this.refresh();
  }

  /** The consent page of the server opens in a tab of its own. */
  async connect(name) {
    const tab = window.open("about:blank", "_blank");
    const answer = await post(`/console/tools/connections/${encodeURIComponent(name)}`, {});
    if (answer.url && tab) {
      tab.opener = null;
      tab.location = answer.url;
      return;
    }
    tab?.close();
    this.refused = answer.error ?? "The browser opened no tab: allow it, and press again.";
    await this.refresh();
  }
}

async function post(address, body) {
  try {
    return await ask(address, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  } catch (error) {
    if (error instanceof Unreachable) return { error: "The daemon did not answer: press again when it is back." };
    throw error;
  }
}

function figures({ calls, failures, latency }, protocol) {
  return [
    protocol && `protocol ${protocol}`,
    calls > 0 ? several(calls, "call") : "not called since the start",
    failures > 0 && `${count(failures)} failed`,
    latency !== null && `the last one took ${seconds(latency)}`,
  ].filter(Boolean).join(" · ");
}

function toolLine({ name, description, reads, asks, offered }) {
  const rule = asks ? "asks first" : reads ? "reads" : "never asks";
  return el("li", {}, el("b", {}, name), " ", el("span", { className: "chip" }, rule), !offered && el("span", { className: "chip" }, "not offered"), el("p", { className: "note" }, description));
}

function leftOut([name, why]) {
  return el("li", {}, el("b", {}, name), " ", el("span", { className: "chip" }, "not offered"), el("p", { className: "note" }, why));
}
