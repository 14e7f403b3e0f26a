// People and apps as small pictures: a letter on a quiet colour; the soul as its mark.

import { el } from "./dom.js";

export function avatar(member, { soul = false, small = false } = {}) {
  const hue = [...member.id].reduce((sum, letter) => sum + 7 * letter.charCodeAt(0), 0) % 360;
  const className = ["avatar", soul && "soul", small && "small"].filter(Boolean).join(" ");
  return el("span", { className, style: { "--hue": hue }, "aria-hidden": "true" }, member.name[0]);
}
