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
    if (node.closest("option, .unseen, [inert], :disabled, script, noscript")) continue;
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
    if (style.overflowX !== "hidden" || node.matches("body, .unseen, .avatar") || !node.checkVisibility()) continue;
    const cut = node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0;
    if (cut && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none") tell("cut without a sign", node);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.add("the page is wider than its window");
  return [...faults];
}
