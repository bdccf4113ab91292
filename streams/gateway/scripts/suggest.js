// Suggestions while a person types (WAI-ARIA combobox with a listbox). The page works without it.
(() => {
  const form = document.querySelector("form[data-suggest]"), box = form?.querySelector("input[name=q]");
  if (!box) return;
  const WAIT = 200, KEPT = 600000, MOST = 10, STORE = "riffle-suggestions";
  const language = form.querySelector("input[name=language]")?.value ?? "";
  const list = document.createElement("ul");
  let known = {}, shown = [], active = -1, typed = "", timer, asking;
  try { known = JSON.parse(sessionStorage.getItem(STORE)) ?? {}; } catch {}

  list.id = "suggestions";
  list.hidden = true;
  const set = (element, values) => { for (const name in values) element.setAttribute(name, values[name]); };
  set(list, {role: "listbox", "aria-label": form.dataset.label});
  set(box, {role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id});
  form.append(list);

  const close = () => {
    list.hidden = true;
    active = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };
  const keep = (text, found) => {
    known[text] = [Date.now() + KEPT, found];
    const texts = Object.keys(known);
    if (texts.length > 200) delete known[texts[0]];
    try { sessionStorage.setItem(STORE, JSON.stringify(known)); } catch {}
  };
  const recall = text => known[text]?.[0] > Date.now() ? known[text][1] : null;
  // A list that is not full has all completions: the lists of longer texts follow from it.
  const find = text => {
    const found = recall(text);
    if (found) return found;
    for (let end = text.length - 1; end > 0; end--) {
      const shorter = recall(text.slice(0, end));
      if (!shorter) continue;
      const rest = shorter.filter(each => each.startsWith(text));
      if (shorter.length < MOST && rest.length) return rest;
      break;
    }
    return null;
  };
  const ask = async (text, signal, priority) => {
    const query = new URLSearchParams({q: text});
    if (language && language !== "*") query.set("language", language);
    const answer = await fetch(`${form.dataset.suggest}?${query}`, {signal, priority});
    if (!answer.ok) return [];
    const found = (await answer.json()).suggestions.map(each => each.text);
    keep(text, found);
    return found;
  };
  const show = (text, found) => {
    if (box.value.toLowerCase().trimStart() !== text || document.activeElement !== box) return;
    shown = found.filter(each => each !== text);
    close();
    list.replaceChildren(...shown.map((each, number) => {
      const item = document.createElement("li"), rest = document.createElement("strong");
      rest.textContent = each.startsWith(text) ? each.slice(text.length) : "";
      item.append(each.slice(0, each.length - rest.textContent.length), rest);
      set(item, {role: "option", id: `suggestion-${number}`, "aria-selected": "false", dir: "auto"});
      return item;
    }));
    list.hidden = !shown.length;
    box.setAttribute("aria-expanded", String(!list.hidden));
    ahead(text, found);
  };
  // What is likely typed next: the letter with which most of the suggestions go on.
  const ahead = (text, found) => {
    if (found.length < MOST || navigator.connection?.saveData) return;
    const next = {};
    for (const each of found.filter(each => each.startsWith(text))) {
      const longer = each.slice(0, text.length + 1);
      next[longer] = (next[longer] ?? 0) + 1;
    }
    const likely = Object.keys(next).filter(each => !recall(each)).sort((a, b) => next[b] - next[a]).slice(0, 2);
    for (const each of likely) ask(each, asking?.signal, "low").catch(() => {});
  };
  const look = async () => {
    const text = box.value.toLowerCase().trimStart();
    asking?.abort();
    if (!text || text.length > 100) return close();
    asking = new AbortController();
    try { show(text, find(text) ?? await ask(text, asking.signal)); } catch {}
  };
  const choose = number => {
    const items = list.children;
    items[active]?.setAttribute("aria-selected", "false");
    active = number;
    const item = items[active];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({block: "nearest"});
    item ? box.setAttribute("aria-activedescendant", item.id) : box.removeAttribute("aria-activedescendant");
    box.value = item ? shown[active] : typed;
  };

  box.addEventListener("input", event => {
    clearTimeout(timer);
    typed = box.value;
    if (event.isComposing) return;
    const found = find(typed.toLowerCase().trimStart());
    if (found) show(typed.toLowerCase().trimStart(), found);
    else timer = setTimeout(look, WAIT);
  });
  box.addEventListener("compositionend", () => { typed = box.value; timer = setTimeout(look, WAIT); });
  box.addEventListener("keydown", event => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.isComposing || (!step && event.key !== "Escape")) return;
    if (step && list.hidden) { typed = box.value; look(); event.preventDefault(); return; }
    if (list.hidden) return;
    event.preventDefault();
    if (!step) { box.value = typed; close(); return; }
    const count = shown.length + 1;
    choose((active + 1 + step + count) % count - 1);
  });
  box.addEventListener("blur", close);
  list.addEventListener("pointerdown", event => event.preventDefault());
  list.addEventListener("click", event => {
    const number = [...list.children].indexOf(event.target.closest("li"));
    if (number < 0) return;
    box.value = shown[number];
    close();
    form.requestSubmit();
  });
})();
// Keys: "/" to the search box, "j" and "k" through the results, "o" opens one. Escape and a click elsewhere close menus.
// A person can switch the letters off (WCAG 2.2, 2.1.4).
(() => {
  const close = but => document.querySelectorAll("details[name=menu][open]").forEach(each => {
    if (each.contains(but)) return;
    if (each.contains(document.activeElement)) each.querySelector("summary").focus();
    each.open = false;
  });
  document.addEventListener("click", event => close(event.target));
  document.addEventListener("keydown", event => {
    const {key, target} = event;
    if (key === "Escape") return close();
    if (document.documentElement.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target.closest("input, textarea, select, [contenteditable]")) return;
    const box = document.querySelector("#q"), links = [...document.querySelectorAll(".result h2 a:not(.far:not([open]) *)")];
    const now = links.indexOf(target.closest(".result")?.querySelector("h2 a"));
    if (key === "/" && box) box.focus(), box.select();
    else if (key === "j" && links[now + 1]) links[now + 1].focus();
    else if (key === "k" && links[now - 1]) links[now - 1].focus();
    else if (key === "o" && now >= 0) links[now].click();
    else return;
    event.preventDefault();
  });
})();
