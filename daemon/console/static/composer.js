// Where one writes: Enter sends, Shift+Enter begins a new line, what was refused stays and says why.

import { el } from "./dom.js";

/** The parts of a composer: a form's children. `send(text)` posts it and may throw. */
export function composer({ label, send, tools = [] }) {
  const refused = el("p", { className: "refused", role: "alert", hidden: true });
  const field = el("textarea", { rows: 1, placeholder: label, "aria-label": label, maxLength: 40000 });

  async function submit() {
    const text = field.value;
    if (!text.trim()) return;
    field.value = "";
    refused.hidden = true;
    try {
      await send(escaped(text.trim()));
    } catch (error) {
      field.value = field.value || text;
      refused.textContent = `This was not sent: ${error.message}.`;
      refused.hidden = false;
    }
  }

  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const button = el("button", { type: "submit", className: "send" }, "Send");
  const foot = tools.length ? el("div", { className: "tools" }, tools, button) : null;
  return { field, submit, nodes: [el("div", { className: "writing" }, refused, field, foot)] };
}

/** Slack's clients escape three characters in what people type. */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
