// Elements from plain values: the only way this page makes DOM. Text is always text, never HTML.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name in node && !name.includes("-") && name !== "role") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Say something to people who listen to the page instead of seeing it. */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** Is this place scrolled to its end? Then it should stay there when something is added. */
export function atEnd(node) {
  return node.scrollHeight - node.scrollTop - node.clientHeight < 80;
}

export function toEnd(node) {
  node.scrollTop = node.scrollHeight;
}

/** Go on there by keyboard, unless somebody writes just now: nothing takes the field away from them. */
export function goOnAt(node) {
  if (!document.activeElement?.matches("textarea, select, input[type='search']")) node.focus({ preventScroll: true });
}

/** Draw anew what stands there. Whoever is on a control of it stays on that one, or on the new one of its key. */
export function redraw(place, ...children) {
  const on = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children);
  if (!on) return;
  const keyed = () => [...place.querySelectorAll("[data-key]")].find(({ dataset }) => dataset.key === on.dataset.key);
  const again = place.contains(on) ? on : keyed();
  again?.focus({ preventScroll: true });
}

/** For a moment it stands out. */
export function flash(node) {
  node.classList.remove("flash");
  void node.offsetWidth; // so that it begins again
  node.classList.add("flash");
}
