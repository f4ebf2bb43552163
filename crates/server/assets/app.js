// Live updates, logs and keys. Every page works without this file.
"use strict";
(() => {
  const base = document.body.dataset.base;
  const main = () => document.getElementById("main");
  document.documentElement.classList.add("scripted");

  // --- Times -----------------------------------------------------------------------------------

  const length = (ms) => {
    const s = Math.floor(ms / 1000);
    const two = (size, name, small, rest) => {
      const extra = Math.floor((s % size) / small);
      return Math.floor(s / size) + " " + name + (extra ? " " + extra + " " + rest : "");
    };
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " min";
    return s < 86400 ? two(3600, "h", 60, "min") : two(86400, "d", 3600, "h");
  };

  const tick = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-at]")) {
      const ago = now - Number(time.dataset.at);
      const text = ago < 0 ? "in " + length(-ago) : ago < 1000 ? "just now" : length(ago) + " ago";
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // --- Swapping the content of the page --------------------------------------------------------

  // Returns a selector that finds an element again after a swap. Several rows may have the same
  // link: a row with a name of its own comes first.
  const address = (element) => {
    if (!element || element === document.body || !main().contains(element)) return null;
    if (element.id) return "#" + CSS.escape(element.id);
    const row = element.closest("tr[id], li[id], article[id]");
    const within = row ? address(row) + " " : "";
    for (const name of ["href", "name", "data-id", "data-keep"]) {
      const value = element.getAttribute(name);
      if (value) return within + element.localName + "[" + name + "=" + CSS.escape(value) + "]";
    }
    if (element.localName === "summary") {
      const details = address(element.parentElement);
      return details && details + " > summary";
    }
    return null;
  };

  const remember = () => {
    const root = main();
    const active = document.activeElement;
    const selected = root.querySelector(".selected");
    return {
      focus: address(active),
      caret: active && typeof active.selectionStart === "number" ? [active.selectionStart, active.selectionEnd] : null,
      value: active && active.matches && active.matches("input[type=search]") ? active.value : null,
      open: [...root.querySelectorAll("details[open][data-id]")].map((element) => element.dataset.id),
      scrolled: [...root.querySelectorAll("[data-keep]")].map((e) => [e.dataset.keep, e.scrollLeft, e.scrollTop]),
      selected: selected ? address(selected) || address(selected.querySelector(".row-link")) : null,
      top: window.scrollY,
    };
  };

  const restore = (state) => {
    const root = main();
    for (const id of state.open) {
      const details = root.querySelector("details[data-id=" + CSS.escape(id) + "]");
      if (details) details.open = true;
    }
    for (const [keep, left, top] of state.scrolled) {
      const element = root.querySelector("[data-keep=" + CSS.escape(keep) + "]");
      if (element) { element.scrollLeft = left; element.scrollTop = top; }
    }
    const selected = state.selected && root.querySelector(state.selected);
    if (selected) (selected.closest("tr, li, article") || selected).classList.add("selected");
    const focus = state.focus && root.querySelector(state.focus);
    if (focus) {
      if (state.value !== null) focus.value = state.value;
      focus.focus({ preventScroll: true });
      if (state.caret) focus.setSelectionRange(state.caret[0], state.caret[1]);
    }
    showTab();
    window.scrollTo({ top: state.top, behavior: "instant" });
  };

  // Tabs scroll on a narrow screen: the present one must be in sight.
  const showTab = () => {
    const tab = main().querySelector(".tabs [aria-current]");
    const tabs = tab && tab.closest(".tabs");
    if (tabs) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
  };
  showTab();
  window.addEventListener("resize", showTab);

  let running = null;
  const load = async (url) => {
    if (running) running.abort();
    const control = running = new AbortController();
    try {
      const headers = { "X-Fragment": "1" };
      const response = await fetch(url, { headers, signal: control.signal, credentials: "same-origin" });
      // A page that redirects, such as to sign-in, or that has gone is shown as a whole.
      if (response.redirected || !response.ok) return location.reload();
      const text = await response.text();
      if (control.signal.aborted) return;
      const state = remember();
      main().innerHTML = text;
      restore(state);
    } catch (error) {
      if (error.name !== "AbortError") stale = true;
    } finally {
      if (running === control) running = null;
    }
  };

  // --- Live updates ----------------------------------------------------------------------------

  let stale = false;
  let last = 0;
  let timer = 0;

  // A swap would undo the user's work: a form that is filled in, or text that is being selected.
  const busy = () => {
    const selection = window.getSelection();
    const selecting = selection && !selection.isCollapsed && main().contains(selection.anchorNode);
    return selecting || main().querySelector("form[method=post], [data-follow]") !== null || document.hidden;
  };

  const refresh = () => {
    timer = 0;
    if (!stale || busy()) return;
    stale = false;
    last = Date.now();
    load(location.href);
  };

  const outdated = () => {
    stale = true;
    if (!timer) timer = setTimeout(refresh, Math.max(150, 1000 - (Date.now() - last)));
  };

  const show = (text, state) => {
    const live = document.getElementById("live");
    if (live) { live.textContent = text; live.className = "live " + state; }
  };

  const concerns = (kind, data) => {
    if (kind === "reload") return true;
    if (!main().dataset.events.split(" ").includes(kind)) return false;
    const page = main().querySelector("[data-app]");
    if (kind !== "app" || !page) return true;
    try { return JSON.parse(data).app === page.dataset.app; } catch { return true; }
  };

  const listen = () => {
    const source = new EventSource(base + "/api/v1/events?after=" + document.body.dataset.position);
    let lost = false;
    source.onopen = () => {
      show("Live", "on");
      if (lost) outdated();
      lost = false;
    };
    source.onerror = () => {
      lost = true;
      show("Reconnecting", "off");
      // A response that is no stream ends the source for good: the session has ended, which the
      // next load notices, or there are too many streams.
      if (source.readyState !== EventSource.CLOSED) return;
      outdated();
      setTimeout(listen, 5000);
    };
    for (const kind of ["app", "reload", "store", "target"]) {
      source.addEventListener(kind, (event) => { if (concerns(kind, event.data)) outdated(); });
    }
  };

  if ("live" in document.body.dataset) {
    listen();
    setInterval(tick, 10000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) { tick(); outdated(); } });
    document.addEventListener("selectionchange", () => { if (stale && !timer) timer = setTimeout(refresh, 1000); });
  }

  // --- Logs that are followed ------------------------------------------------------------------

  const MOST_LINES = 2000;
  const ESCAPES = /\u001b\[[^a-zA-Z]*[a-zA-Z]?/g;
  const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

  const logLine = (part) => {
    const row = document.createElement("li");
    const add = (text, name) => {
      const span = document.createElement("span");
      if (name) span.className = name;
      span.textContent = text.replace(ESCAPES, "").replace(CONTROLS, "\ufffd");
      row.append(span);
    };
    if (part.line) { add(part.line.source, "source"); add(part.line.text); return row; }
    if (part.note) { row.className = "note"; add(part.note.text); return row; }
    return null;
  };

  const follow = async (list) => {
    const state = document.getElementById("log-state");
    try {
      const response = await fetch(list.dataset.follow, { credentials: "same-origin" });
      if (!response.ok) return;
      state.textContent = "New lines appear as they are written.";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done || !list.isConnected) break;
        const parts = (rest + value).split("\n");
        rest = parts.pop();
        const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
        for (const text of parts) {
          const row = text && logLine(JSON.parse(text));
          if (row) list.append(row);
        }
        const empty = document.getElementById("log-empty");
        if (empty && list.childElementCount) empty.remove();
        while (list.childElementCount > MOST_LINES) list.firstElementChild.remove();
        if (atEnd) list.scrollTop = list.scrollHeight;
      }
      state.textContent = "The logs have ended. Reload the page for newer lines.";
    } catch {
      state.textContent = "The connection was lost. Reload the page for newer lines.";
    }
  };

  const log = main().querySelector("[data-follow]");
  if (log) { log.scrollTop = log.scrollHeight; follow(log); }

  // --- Search while typing ---------------------------------------------------------------------

  let typing = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-instant]");
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const query = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...query]) if (!value) query.delete(name);
      const url = form.action + (query.size ? "?" + query : "");
      history.replaceState(null, "", url);
      load(url);
    }, 180);
  });

  // --- Menus -----------------------------------------------------------------------------------

  const closeMenus = (except) => {
    let closed = null;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) { menu.open = false; closed = menu; }
    }
    return closed;
  };
  document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));

  // --- Keys ------------------------------------------------------------------------------------

  const rows = () => [...main().querySelectorAll("[data-rows] tbody tr, ol[data-rows] > .entry, div[data-rows] > article")];

  const select = (step) => {
    const all = rows();
    const current = all.findIndex((row) => row.classList.contains("selected"));
    const next = all[current < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, current + step))];
    if (!next) return;
    if (current >= 0) all[current].classList.remove("selected");
    next.classList.add("selected");
    const link = next.querySelector("a");
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  const keys = document.getElementById("keys");
  const showKeys = () => { if (keys && !keys.open) keys.showModal(); };
  const button = document.getElementById("show-keys");
  if (button) button.addEventListener("click", showKeys);
  if (keys) keys.addEventListener("click", (event) => { if (event.target === keys) keys.close(); });

  let prefix = 0;
  const escape = (event) => {
    if (keys && keys.open) return;
    const menu = closeMenus(null);
    if (menu) { menu.querySelector("summary").focus(); event.preventDefault(); return; }
    const typed = event.target.matches("input, textarea, select");
    if (typed) event.target.blur();
    else rows().forEach((row) => row.classList.remove("selected"));
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return escape(event);
    if (event.target.matches("input, textarea, select") || (keys && keys.open)) return;
    if (Date.now() - prefix < 1500) {
      prefix = 0;
      const link = document.querySelector(".side a[data-key=" + CSS.escape(event.key) + "]");
      if (link) { event.preventDefault(); link.click(); return; }
    }
    const onLink = event.target.closest("a, button, summary");
    const actions = {
      "/": () => (document.getElementById("filter") || document.getElementById("search-apps")).focus(),
      "?": showKeys,
      g: () => { prefix = Date.now(); },
      j: () => select(1),
      k: () => select(-1),
      Enter: () => {
        const link = main().querySelector(".selected a");
        if (link && !onLink) link.click();
      },
    };
    const action = Object.hasOwn(actions, event.key) && actions[event.key];
    if (!action) return;
    if (event.key !== "Enter" || !onLink) event.preventDefault();
    action();
  });
})();
