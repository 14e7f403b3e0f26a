// A modal that the soul shows to one person: its blocks as a form, which is sent as a whole.

import { el } from "../base/dom.js";
import { gesture, Refused } from "./slack_client.js";

/** What Slack's client says by itself. */
const TROUBLE = {
  no_response: "The soul did not take it in time. Send it again.",
  view_not_found: "This form is not open any more. Press the button of the question again.",
};

/** The modal that is open; a new one takes its place. */
let open = null;

/** Show this view to the person `user`. */
export function showModal(view, user) {
  open?.remove();
  open = document.body.appendChild(dialog(view, user));
  open.showModal();
}

function dialog(view, user) {
  const fields = view.blocks.filter(({ type }) => type === "input").map(field);
  const send = view.submit && el("button", { type: "submit", className: "press primary" }, view.submit.text);
  const close = el("button", { type: "button", className: "press", onclick: () => node.close() }, view.close?.text ?? "Cancel");
  const refused = el("p", { className: "refused", role: "alert", hidden: true });
  const form = el(
    "form",
    { noValidate: true, autocomplete: "off", onsubmit: submit },
    el("h2", { id: "modal-title" }, view.title.text),
    el("div", { className: "blocks" }, view.blocks.map((block) => fields.find(({ id }) => id === block.block_id)?.node ?? still(block))),
    refused,
    el("footer", {}, close, send),
  );
  const node = el("dialog", { className: "modal", "aria-labelledby": "modal-title", onclose: gone, onkeydown: (event) => event.stopPropagation() }, form);
  let sent = false;

  async function submit(event) {
    event.preventDefault();
    send.disabled = true;
    refused.hidden = true;
    const values = Object.fromEntries(fields.map(({ id, value }) => [id, value()]));
    try {
      const { errors = null } = await gesture("submit", { user, view: view.id, values });
      for (const { id, fault } of fields) fault(errors?.[id]);
      fields.find(({ id }) => errors?.[id])?.focus();
      sent = !errors;
      if (sent) node.close();
    } catch (error) {
      refused.textContent = (error instanceof Refused && TROUBLE[error.message]) || "This was not sent: the daemon is away.";
      refused.hidden = false;
    }
    send.disabled = false;
    if (document.activeElement === document.body) send.focus();
  }

  function gone() {
    node.remove();
    if (!sent) gesture("close-view", { user, view: view.id }).catch(() => {});
  }

  return node;
}

// What is only shown

function still({ type, text, elements = [] }) {
  if (type === "section") return el("p", { className: "said" }, text.text);
  const links = elements.filter(({ url }) => url);
  return links.map(({ text: { text }, url }) => el("a", { className: "press", href: url, target: "_blank", rel: "noopener noreferrer" }, text));
}

// What is filled in

/** A field: its node, its value as Slack names it, how it shows a fault, and how it takes the focus. */
function field({ block_id: id, label, hint, optional, element }) {
  const { node: control, value, group } = (CONTROLS[element.type] ?? CONTROLS.plain_text_input)(element, id);
  const wrong = el("p", { id: `${id}-wrong`, className: "refused", role: "alert", hidden: true });
  const name = [label.text, optional && el("small", {}, " (optional)")];
  const named = group ? [el("legend", {}, name), control] : el("label", {}, el("b", {}, name), control);
  const node = el(group ? "fieldset" : "div", { className: "field" }, named, hint && el("small", { id: `${id}-hint` }, hint.text), wrong);
  const first = node.querySelector("input, textarea, select");
  (group ? node : first).setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
  function fault(text) {
    wrong.textContent = text ?? "";
    wrong.hidden = !text;
  }
  return { id, node, value, fault, focus: () => first.focus() };
}

function input(type) {
  return ({ initial_value, initial_date, max_length: maxLength, multiline }) => {
    const tag = multiline ? "textarea" : "input";
    const node = el(tag, { type: multiline ? null : type, value: initial_value ?? initial_date ?? "", maxLength: maxLength ?? null });
    return { node, value: () => node.value };
  };
}

/** Slack has Unix seconds. */
function moment({ initial_date_time: initial }) {
  const node = el("input", { type: "datetime-local" });
  if (initial) node.value = new Date((initial - new Date(initial * 1000).getTimezoneOffset() * 60) * 1000).toISOString().slice(0, 16);
  return { node, value: () => (node.value ? Math.floor(new Date(node.value).getTime() / 1000) : null) };
}

function menu(multiple) {
  return ({ options, initial_option, initial_options = [] }) => {
    const chosen = new Set([initial_option, ...initial_options].filter(Boolean).map(({ value }) => value));
    const none = !multiple && el("option", { value: "" }, "");
    const node = el("select", { multiple }, none, options.map(({ text, value }) => el("option", { value, selected: chosen.has(value) }, text.text)));
    const values = () => [...node.selectedOptions].map(({ value }) => value).filter(Boolean);
    return { node, value: () => (multiple ? values() : (values()[0] ?? null)) };
  };
}

function choices(type) {
  return ({ options, initial_option, initial_options = [] }, name) => {
    const chosen = new Set([initial_option, ...initial_options].filter(Boolean).map(({ value }) => value));
    const boxes = options.map(({ value }) => el("input", { type, name, value, checked: chosen.has(value) }));
    const node = boxes.map((box, place) => el("label", { className: "option" }, box, options[place].text.text));
    const values = () => boxes.filter(({ checked }) => checked).map(({ value }) => value);
    return { node, group: true, value: () => (type === "radio" ? (values()[0] ?? null) : values()) };
  };
}

const CONTROLS = {
  plain_text_input: input("text"),
  number_input: input("text"),
  email_text_input: input("email"),
  url_text_input: input("url"),
  datepicker: input("date"),
  datetimepicker: moment,
  static_select: menu(false),
  multi_static_select: menu(true),
  radio_buttons: choices("radio"),
  checkboxes: choices("checkbox"),
};
