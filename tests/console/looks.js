// What is wrong with the page as it stands: run in a browser by looks.py.
() => {
  const HANDLE = /\b[UWBCDG]0[A-Z0-9]{7,}\b/;
  const top = document.querySelector("dialog[open]") ?? document.body;
  const faults = new Set();
  const tell = (fault, node) =>
    faults.add(`${fault}: ${node.tagName.toLowerCase()}#${node.id}.${node.className} “${node.textContent.trim().slice(0, 60)}”`);

  const channels = (colour) => {
    const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return { light: [red, green, blue], alpha };
  };
  const over = (one, other, alpha) => one.map((value, at) => value * alpha + other[at] * (1 - alpha));
  const lightness = (light) => {
    const [red, green, blue] = light.map((value) => value / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [less, more] = [lightness(one), lightness(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  const lineage = (node) => (node ? [node, ...lineage(node.parentElement)] : []);
  const ground = (node) => {
    let light = [255, 255, 255];
    for (const one of lineage(node).reverse()) {
      const { light: own, alpha } = channels(getComputedStyle(one).backgroundColor);
      light = over(own, light, alpha);
    }
    return light;
  };
  const clips = (node) => getComputedStyle(node).overflowX !== "visible";
  const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (node.closest("option, .unseen, [inert], :disabled, script, noscript") || getComputedStyle(node).clipPath !== "none") continue;
    const line = document.createRange();
    line.selectNodeContents(text);
    const box = line.getBoundingClientRect();
    if (!box.width || box.bottom < 0 || box.top > innerHeight) continue;
    if (HANDLE.test(text.data)) tell("a raw handle", node);
    const framed = lineage(node).find(clips);
    const seen = framed && framed !== document.body ? framed.getBoundingClientRect() : box;
    if (seen.left < -1 || seen.right > innerWidth + 1) tell("outside of the window", node);
    const style = getComputedStyle(node);
    const { light, alpha } = channels(style.color);
    const opacity = lineage(node).reduce((sum, one) => sum * Number(getComputedStyle(one).opacity), alpha);
    if (!opacity) continue;
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && Number(style.fontWeight) >= 700);
    const behind = ground(node);
    const found = contrast(over(light, behind, opacity), behind);
    if (found < (large ? 3 : 4.5)) tell(`hard to read, ${found.toFixed(2)}`, node);
  }
  for (const node of top.querySelectorAll("*")) {
    const style = getComputedStyle(node);
    if (style.overflowX !== "hidden" || node.matches("body, .unseen, .avatar") || style.clipPath !== "none" || !node.checkVisibility()) continue;
    const cut = node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0;
    if (cut && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none") tell("cut without a sign", node);
  }
  // Lines of text: none lies upon another, and none is cut but at the edge of what scrolls up and down.
  const LAYERS = "#journal, #faults, #call, #panel, #quotation, .news, dialog"; // they lie upon the page
  const SMALL = 110; // pixels: what scrolls in less shows too little of a text
  const hides = (node) => getComputedStyle(node).clipPath !== "none" || node.matches(".unseen, [hidden]");
  const signed = (node) => {
    const style = getComputedStyle(node);
    return style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none" || style.maskImage !== "none";
  };
  const crop = (box, node) => {
    const { left, top: upper, right, bottom } = node.getBoundingClientRect();
    return { left: Math.max(box.left, left), top: Math.max(box.top, upper), right: Math.min(box.right, right), bottom: Math.min(box.bottom, bottom) };
  };
  const lines = [];
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const around = lineage(node);
    if (node.closest("option, select, textarea, script, noscript, svg") || around.some(hides)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      let seen = { left: box.left, top: box.top, right: box.right, bottom: box.bottom };
      for (const one of around) {
        const style = getComputedStyle(one);
        if (one === document.body || one === document.documentElement || style.overflowX === "visible" || signed(one)) continue;
        const scrolls = ["auto", "scroll"].includes(style.overflowY) && one.clientHeight >= SMALL;
        const cropped = crop(seen, one);
        const lost = seen.bottom - seen.top - Math.max(0, cropped.bottom - cropped.top);
        if (!scrolls && lost > 4 && cropped.bottom - cropped.top > -40) tell("cut above or below", node);
        seen = cropped;
      }
      for (const one of around.filter(signed)) seen = crop(seen, one);
      const [width, height] = [seen.right - seen.left, seen.bottom - seen.top];
      if (width < 2 || height < 5 || seen.bottom < 1 || seen.top > innerHeight - 1) continue;
      const over = document.elementFromPoint(Math.min((seen.left + seen.right) / 2, innerWidth - 1), Math.max(0, (seen.top + seen.bottom) / 2));
      const layer = over?.closest(LAYERS);
      if (!over || (layer && !layer.contains(node))) continue; // it lies under one
      lines.push({ node, text, ...seen });
    }
  }
  const sticks = ({ node }) => lineage(node).some((up) => getComputedStyle(up).position === "sticky");
  lines.sort((one, other) => one.top - other.top);
  for (const [at, one] of lines.entries()) {
    for (const other of lines.slice(at + 1)) {
      if (other.top >= one.bottom) break; // nor does any that stands lower
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const least = 0.34 * Math.min(one.bottom - one.top, other.bottom - other.top); // lines may stand close
      if (width <= 0.5 || height <= least || other.text === one.text || sticks(one) || sticks(other)) continue;
      if (one.node.closest(LAYERS) !== other.node.closest(LAYERS)) continue; // a layer covers what is under its edge
      tell(`lies upon “${other.node.textContent.trim().slice(0, 30)}”`, one.node);
    }
  }
  for (const node of top.querySelectorAll("*")) {
    if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(node);
    const sideways = ["auto", "scroll"].includes(style.overflowX) && node.scrollWidth > node.clientWidth + 1;
    if (sideways && !node.matches("table, textarea, input")) tell("scrolls sideways", node);
    const { width, height } = node.getBoundingClientRect();
    if (style.borderTopLeftRadius === "50%" && Math.abs(width - height) > 0.6) tell(`is no circle, ${width} by ${height}`, node);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.add("the page is wider than its window");
  return [...faults];
}
