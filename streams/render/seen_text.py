"""The script that reads a rendered document, and marks in what it returns each text that no reader sees.

It runs in a world of its own, so that the page can change none of its functions, while the page's scripts are stopped.
The marks are written into the returned HTML only: no callback of a custom element sees them. Each unseen text has an
element around it, whose name no parser of HTML knows, so the mark stays with the text where a document that scripts
built (a text in a table, a block in a paragraph) is read as another tree. A parser of HTML knows elements by their
names, so their names decide how they are written, whatever their namespace. Names that it reads otherwise are not
written; an element with raw text has one text, in which no tag can begin; and comments, templates, drawings, lists to
select from, and what is for browsers without scripts are left out.

What a reader opens (`<details>`, `hidden="until-found"`) counts as seen if nothing else hides it. What a closed shadow
tree shows of its host's content does not. No script sees such a tree, but its host refuses another one: so the elements
around seen texts are asked last, when nothing is measured any more. `pages.parse.hiding.doubts` reads the marks, and
believes them only in rendered pages with the stamp of this script.
"""

MARK, OWN = "data-riffle-doubt", "own"
"""The attribute of an element whose own text is not seen, and its value: as the parser of pages reads them."""
STAMP = "data-riffle-judged"
"""The attribute of the root of a document that was judged."""
WRAPPER = "riffle-text"
"""The name of the element around an unseen text."""
MAX_TEXTS = 30_000
"""Maximum number of texts that are judged. Elements that have only others count as unseen."""

OPENING = (
    "details:not([open])::details-content{all:revert!important;content-visibility:visible!important}"
    "[hidden='until-found' i]:not([style*='content-visibility' i]){content-visibility:visible!important}"
)
"""The style sheet that opens, while texts are judged, what a reader opens. What else hides it stays."""
READ_DOCUMENT = r"""function({mark, own: ownText, stamp, opened, texts: mostTexts, chars, wrapper}) {
  const root = document.documentElement, states = new Map();
  if (!document.body || !document.body.hasChildNodes()) return "";
  // Read by the prototype: a field of a form takes the place of the form's own property of that name.
  const of = (kind, name) => {
    const {get, value} = Object.getOwnPropertyDescriptor(kind.prototype, name);
    return get ? each => get.call(each) : (each, ...rest) => value.apply(each, rest);
  };
  const parentOf = of(Node, "parentNode"), firstOf = of(Node, "firstChild"), nextOf = of(Node, "nextSibling");
  const nameOf = of(Element, "localName"), spaceOf = of(Element, "namespaceURI");
  const attributesOf = of(Element, "attributes"), slotOf = of(Element, "assignedSlot");
  const attachTree = of(Element, "attachShadow"), openTreeOf = of(Element, "shadowRoot");
  const boxOf = of(Element, "getBoundingClientRect"), checkVisibility = of(Element, "checkVisibility");
  const elementAbove = node => parentOf(node) instanceof Element ? parentOf(node) : null;
  const drawnIn = node => {
    const above = (node instanceof Element ? slotOf(node) : node.assignedSlot) || parentOf(node);
    return above instanceof ShadowRoot ? above.host : above instanceof Element ? above : null;
  };
  const opening = new CSSStyleSheet(), range = document.createRange();
  opening.replaceSync(opened);
  document.adoptedStyleSheets.push(opening);
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const numbers = new Map();
  const rgba = text => {
    if (!numbers.has(text)) {
      pen.clearRect(0, 0, 1, 1); pen.fillStyle = "#000"; pen.fillStyle = text; pen.fillRect(0, 0, 1, 1);
      numbers.set(text, pen.getImageData(0, 0, 1, 1).data);
    }
    return numbers.get(text);
  };
  const linear = part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = (letters, paper) => {
    const mix = at => linear(letters[at] * letters[3] / 255 + paper[at] * (1 - letters[3] / 255));
    return 0.2126 * mix(0) + 0.7152 * mix(1) + 0.0722 * mix(2);
  };
  const contrast = (letters, paper) => {
    const both = [light(letters, paper), light(paper, paper)].sort((a, b) => a - b);
    return (both[1] + 0.05) / (both[0] + 0.05);
  };
  const intersect = (one, other) => ({
    left: Math.max(one.left, other.left), top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right), bottom: Math.min(one.bottom, other.bottom),
  });
  const visibly = {visibilityProperty: true, checkVisibilityCSS: true};
  const isShown = (element, style) =>
    style.display === "contents" ? style.visibility === "visible" : checkVisibility(element, visibly);
  const all = {left: -1e9, top: -1e9, right: 1e9, bottom: 1e9};
  const stateOf = element => {
    if (!element) return {cover: 1, paper: [255, 255, 255, 255], drawn: false, clip: all, lost: false};
    if (states.has(element)) return states.get(element);
    const host = drawnIn(element), above = stateOf(host), style = getComputedStyle(element), own = {...above, host};
    const hazy = /opacity\(([0-9.]+)/.exec(style.filter);
    own.cover *= parseFloat(style.opacity) * (hazy ? parseFloat(hazy[1]) : 1);
    if (style.clipPath !== "none" || style.maskImage !== "none" || style.clip !== "auto") own.lost = true;
    if (style.contentVisibility === "hidden") own.lost = true;
    if (nameOf(element) === "details" && !element.open) {
      const head = [...element.children].find(each => each.localName === "summary");
      if (head && !checkVisibility(head, visibly)) own.lost = true;
    }
    if (style.zIndex < 0 && style.position !== "static") own.lost = true;
    if (style.backfaceVisibility === "hidden" && new DOMMatrix(style.transform).m33 < 0) own.lost = true;
    if (style.overflowX !== "visible" || style.overflowY !== "visible") {
      const box = boxOf(element), scrolls = /scroll|auto/.test(style.overflowX + style.overflowY);
      if (element !== document.body && element !== root && (!scrolls || box.width < 3 || box.height < 3))
        own.clip = intersect(above.clip, box);
    }
    const paper = rgba(style.backgroundColor);
    if (style.backgroundImage !== "none" || (paper[3] > 0 && paper[3] < 250)) own.drawn = true;
    else if (paper[3] >= 250) { own.paper = paper; own.drawn = false; }
    if (style.position === "absolute" || style.position === "fixed") own.drawn ||= paper[3] === 0 && above.drawn;
    states.set(element, own);
    return own;
  };
  const isSeen = text => {
    const element = drawnIn(text), state = stateOf(element), style = getComputedStyle(element);
    if (state.lost || state.cover < 0.2 || !isShown(element, style) || parseFloat(style.fontSize) < 5) return false;
    const right = Math.max(root.clientWidth, root.scrollWidth);
    range.selectNodeContents(text);
    const hasPlace = [...range.getClientRects()].some(rect => {
      const part = intersect(rect, state.clip), left = part.left + scrollX, top = part.top + scrollY;
      const size = Math.min(part.right - part.left, part.bottom - part.top);
      return size >= 3 && part.right + scrollX > 0 && part.bottom + scrollY > 0 && left < right && top < 1e6;
    });
    if (!hasPlace) return false;
    const outlined = style.textShadow !== "none" || parseFloat(style.webkitTextStrokeWidth) > 0;
    if (outlined || state.drawn || style.backgroundClip === "text" || style.mixBlendMode !== "normal") return true;
    return contrast(rgba(style.webkitTextFillColor), state.paper) >= 1.4;
  };
  const nameIn = element => /^[a-z][a-z0-9._-]*$/i.test(nameOf(element)) ? nameOf(element).toLowerCase() : "span";
  const isLeaf = name => /^(script|style|textarea|title)$/.test(name);
  const isLeftOut = name => /^(noscript|template|noembed|noframes|iframe)$/.test(name);
  const own = new Map(), ofText = NodeFilter.SHOW_TEXT | NodeFilter.SHOW_CDATA_SECTION;
  const walker = document.createTreeWalker(root, ofText);
  let left = mostTexts;
  while (walker.nextNode()) {
    const text = walker.currentNode, element = elementAbove(text);
    if (!element || !text.data.trim() || isLeaf(nameIn(element)) || isLeftOut(nameIn(element))) continue;
    if (!own.has(element)) own.set(element, []);
    if (left-- > 0) own.get(element).push(text);
  }
  const unseen = new Set(), seenIn = new Map();
  for (const [element, texts] of own) {
    const text = texts.find(isSeen);
    if (text) seenIn.set(element, drawnIn(text)); else unseen.add(element);
  }
  const html = "http://www.w3.org/1999/xhtml", mathematics = "http://www.w3.org/1998/Math/MathML";
  const mayBeHost = element => spaceOf(element) === html
    && /-|^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/.test(nameOf(element));
  const hasClosedTree = element => {
    if (!mayBeHost(element) || openTreeOf(element)) return false;
    try { attachTree(element, {mode: "open"}); return false; } catch { return true; }
  };
  const inClosed = new Map();
  for (const [element, innermost] of seenIn) {
    const path = [];
    let above = innermost;
    for (; above && !inClosed.has(above); above = states.get(above).host) path.push(above);
    let isClosed = above ? inClosed.get(above) : false;
    for (const each of path.reverse()) inClosed.set(each, isClosed ||= hasClosedTree(each));
    if (isClosed) unseen.add(element);
  }
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter(each => each !== opening);
  const parts = [], coded = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\u00a0": "&nbsp;"};
  let length = 0;
  const put = text => { parts.push(text); length += text.length; };
  const encode = text => text.replace(/[&<>"\u00a0]/g, char => coded[char]);
  const writtenName = element => nameIn(element).replace(/^(xmp|plaintext|listing)$/, "pre");
  const isAlone = text => !nextOf(text) && firstOf(parentOf(text)) === text;
  const isFormula = element => spaceOf(element) === mathematics && element.closest("math") && firstOf(element)
    && isAlone(firstOf(element)) && /^(m[inos]|mtext|annotation)$/.test(nameOf(element));
  const putText = (text, element) => {
    if (unseen.has(element) && text.trim() && !isFormula(element))
      put("<" + wrapper + " " + mark + '="' + ownText + '">' + encode(text) + "</" + wrapper + ">");
    else put(encode(text));
  };
  const putLeaf = (element, name) => {
    let text = "";
    for (let node = firstOf(element); node; node = nextOf(node)) if (node instanceof Text) text += node.data;
    if (/^(textarea|title)$/.test(name)) put(encode(text));
    // No tag begins in it, wherever it is read. In JSON only strings have this sign.
    else put(text.replace(/</g, /json/i.test(element.getAttribute("type")) ? "\\u003c" : "< "));
  };
  const putBegin = element => {
    const names = new Set([mark, stamp]);
    put("<" + writtenName(element));
    if (element === root) put(" " + stamp + '=""');
    if (unseen.has(element) && isFormula(element)) put(" " + mark + '="' + ownText + '"');
    for (const attribute of attributesOf(element)) {
      const name = attribute.name.toLowerCase();
      if (names.has(name) || !/^[a-z_:@][a-z0-9_:.@-]*$/.test(name)) continue;
      names.add(name);
      put(" " + name + '="' + encode(attribute.value) + '"');
    }
    put(">");
  };
  const isVoid = name =>
    /^(area|base|basefont|bgsound|br|col|embed|frame|hr|image|img|input|keygen|link|meta|param|source|track|wbr)$/
      .test(name);
  let formulas = 0; // Around the node. In a formula all text is its own, also that of a style sheet.
  for (let node = root; node && length < chars;) {
    let below = null;
    if (node instanceof Text) putText(node.data, parentOf(node));
    else if (node instanceof Element && !isLeftOut(nameIn(node))) {
      const name = nameIn(node);
      putBegin(node);
      if (isLeaf(name)) formulas || putLeaf(node, name);
      else if (!isVoid(name) && !/^(svg|select)$/.test(name)) below = firstOf(node);
      if (below && name === "math") formulas++;
      if (!below && !isVoid(name)) put("</" + writtenName(node) + ">");
    }
    while (!below && node && node !== root && !(below = nextOf(node))) {
      node = parentOf(node);
      if (nameIn(node) === "math") formulas--;
      put("</" + writtenName(node) + ">");
    }
    node = below;
  }
  return parts.join("").slice(0, chars);
}"""
"""A function of JavaScript: its argument is `arguments_of`. It returns the document, or an empty text if the scripts of
the page removed all of it."""


def arguments_of(max_chars: int) -> dict[str, object]:
    """Return the argument of READ_DOCUMENT, for a document of at most `max_chars` characters."""
    names = {"mark": MARK, "own": OWN, "stamp": STAMP, "wrapper": WRAPPER, "opened": OPENING}
    return {**names, "texts": MAX_TEXTS, "chars": max_chars}
