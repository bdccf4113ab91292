"""Faults of the layout of a page as a browser shows it: text that is outside of the screen, covered, or cut off."""

from tests.e2e.browser import Tab

_FAULTS = """(hasMenu => {
  const faults = [], style = element => getComputedStyle(element);
  const name = node => JSON.stringify(node.data.trim().slice(0, 60));
  const ancestors = element => element ? [element, ...ancestors(element.parentElement)] : [];
  const ends = element => ancestors(element).some(  // what scrolls, or ends in an ellipsis
    each => /auto|scroll/.test(style(each).overflowX) || style(each).textOverflow === 'ellipsis');
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const parent = node.parentElement, range = document.createRange();
    if (!node.data.trim() || parent.closest('.hidden, .skip, script, style')) continue;
    range.selectNodeContents(node);
    const box = range.getClientRects()[0];
    if (!box || !parent.checkVisibility({contentVisibilityAuto: true}) || ends(parent)) continue;
    if (box.left < -1 || box.right > innerWidth + 1) faults.push('outside: ' + name(node));
    const top = document.elementFromPoint(box.left + 2, box.top + box.height / 2);
    if (hasMenu || !top || top.contains(parent) || parent.contains(top)) continue;
    faults.push('covered by ' + top.localName + ': ' + name(node));
  }
  for (const each of document.querySelectorAll('body :not(input, textarea, select, .hidden, .skip, svg, svg *)')) {
    if (!each.checkVisibility()) continue;
    const { overflowX, overflowY, textOverflow, webkitLineClamp } = style(each);
    const isCut = (overflowX === 'hidden' && textOverflow !== 'ellipsis' && each.scrollWidth > each.clientWidth + 1)
      || (overflowY === 'hidden' && webkitLineClamp === 'none' && each.scrollHeight > each.clientHeight + 3);
    if (isCut) faults.push('cut off: ' + each.outerHTML.slice(0, 80));
  }
  return faults;
})"""


async def layout_faults(tab: Tab, width: int, *, dark: bool = False, has_menu: bool = False) -> list[str]:
    """Return the faults of the page, each with its text. `has_menu`: something lies over the page on purpose.

    The screen becomes as high as the page, since only what is on the screen can be asked what covers it.
    """
    height = await tab.evaluate("Math.max(innerHeight, document.documentElement.scrollHeight)")
    await tab.look(width=width, height=height, dark=dark)
    faults: list[str] = await tab.evaluate(f"{_FAULTS}({'true' if has_menu else 'false'})")
    return faults
