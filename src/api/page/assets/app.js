// The frame: which place is shown, the header and the footer, and what is said where the daemon is gone or the login has ended.

import { Failure } from "./api.js";
import { fill, h, icon, morph } from "./dom.js";
import { keyboard } from "./keys.js";
import { begin, live, soon } from "./live.js";
import { told } from "./notify.js";
import { button, copy, note, needsYou, toast, unreadable, waiting } from "./parts.js";
import { placeOf } from "./places.js";
import { signedOut, signedOutNote } from "./signed_out.js";
import { closest, said, sentence, span, timeOf } from "./words.js";

const main = document.getElementById("main");

/** Milliseconds after which it is said what is waited for. */
const WAIT_SHOWS = 150;

let shown = null;
let visits = 0;
/** What searches for the words of the header soon. */
let typing;

/** Opens an address of ours: a new entry in the history unless `replace`. */
export function visit(href, { replace = false, focus = true } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  return open({ focus });
}

/** What is shown stands for itself under this address, too. */
function rename(href) {
  history.replaceState(null, "", href);
  const { pathname, search } = new URL(location.href);
  Object.assign(shown, { path: pathname, href: pathname + search });
}

async function open({ focus = true } = {}) {
  visits += 1;
  // Words that were typed before are not searched for any more.
  clearTimeout(typing);
  document.getElementById("more").hidePopover();
  const mine = visits;
  const address = new URL(location.href);
  const field = document.getElementById("q");
  // Whoever types there goes on; words of a search are those of its place.
  if (field !== document.activeElement) field.value = (address.pathname === "/ui/tools" && address.searchParams.get("q")) || "";
  if (await stays(mine, address)) {
    if (mine === visits) paint();
    return;
  }
  shown?.place.leave?.();
  // It may take further addresses, and paints for as long as it is shown.
  const isShown = () => shown?.place === place;
  const place = placeOf(address, { visit, rename: (href) => isShown() && rename(href), paint: () => isShown() && paint(), soon });
  shown = { path: address.pathname, href: address.pathname + address.search, place, failure: null, loaded: false };
  named();
  mark(place.tab);
  const slow = setTimeout(() => mine === visits && fill(main, waiting(place.waiting ?? "Loading…")), WAIT_SHOWS);
  await guarded(mine, () => place.load?.());
  clearTimeout(slow);
  if (mine !== visits) return;
  shown.loaded = true;
  main.replaceChildren();
  paint();
  if (focus) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  const at = location.hash && document.getElementById(location.hash.slice(1));
  if (at) at.matches("input, textarea") ? at.focus() : at.scrollIntoView();
}

/** Whether the place that is shown takes the address. */
async function stays(mine, address) {
  if (!shown?.loaded || shown.failure) return false;
  const { place } = shown;
  let taken = false;
  await guarded(mine, async () => {
    if (place.adopt) taken = await place.adopt(address);
    else if (place.navigate && shown.path === address.pathname) {
      taken = true;
      await place.navigate(address.searchParams);
    }
  });
  if (taken && mine === visits) Object.assign(shown, { path: address.pathname, href: address.pathname + address.search });
  return taken || Boolean(shown?.failure);
}

async function guarded(mine, act) {
  try {
    await act();
    if (mine === visits && shown) shown.failure = null;
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    if (failure.isSignedOut) return showSignedOut();
    if (mine === visits && shown) shown.failure = failure;
  }
}

function paint() {
  if (!shown?.loaded) return;
  const { place, failure } = shown;
  // The place says it.
  if (failure?.isGone) fill(document.getElementById("notices"));
  const now = h("div", strangeFilters(place.filters), failure ? unreadable(failure, () => open(), place.ways?.(failure)) : place.render());
  const hadFocus = main.contains(document.activeElement);
  if (main.firstElementChild && main.childNodes.length === 1) morph(main.firstElementChild, now);
  else fill(main, now);
  // What was pressed is gone: the keyboard goes on where it stood, not at the top of the page.
  if (hadFocus && document.activeElement === document.body) (main.querySelector("[data-focus]") ?? main).focus({ preventScroll: true });
  named();
  place.painted?.(main);
}

/** Parameters of the address that this place does not know, each with the way out. */
function strangeFilters(known) {
  const { pathname, searchParams } = new URL(location.href);
  const strange = known ? [...searchParams.keys()].filter((key) => key !== "theme" && !known.includes(key)) : [];
  return strange.map((key) => {
    const meant = closest(key, known);
    const to = (name) => () => {
      const asked = new URLSearchParams(searchParams);
      if (name) asked.set(name, asked.get(key));
      asked.delete(key);
      visit(`${pathname}?${asked}`);
    };
    return note("err", ["This page has no filter “", said(key), "”."], meant ? button(["Use “", meant, "”"], to(meant), "btn small primary") : null, button("Remove the filter", to(null), "btn small"));
  });
}

/** The title of the tab says how many servers need a person. */
function named() {
  const n = (live.status?.problems ?? []).filter(needsYou).length;
  if (live.status) told(n);
  if (shown) document.title = `${n ? `(${n}) ` : ""}${shown.place.title} · mcpproxy`;
}

function mark(tab) {
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.dataset.tab === tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function showSignedOut() {
  // The answer to something else said so first.
  if (!live.isSignedOut) soon();
  if (shown?.isTyped) {
    header();
    fill(document.getElementById("notices"), signedOutNote());
    return;
  }
  visits += 1;
  shown = null;
  document.title = "You are logged out · mcpproxy";
  document.body.dataset.out = "";
  fill(document.getElementById("notices"));
  header();
  fill(main, signedOut());
}

async function heard(how) {
  if (how === "signed out") return showSignedOut();
  header();
  const notices = document.getElementById("notices");
  if (how === "lost") {
    const since = live.heard ? [" shows the state at ", timeOf(live.heard), " and"] : null;
    if (!shown?.failure?.isGone) fill(notices, note("work", ["The daemon does not answer. This page", since, " tries again every 4 s. Run ", h("code", "mcpproxy status"), " to see whether the daemon is running."]));
    // What was well at that moment may not be now.
    return paint();
  }
  const error = live.status.config_error;
  fill(notices, error ? note("err", [h("b", "Configuration file not loaded: "), sentence(error.replace(`the configuration ${live.status.config_file} cannot be used: `, "")), ". mcpproxy uses the last good configuration until you correct the file."], button("Copy the file’s path", () => copy(live.status.config_file), "btn small")) : null);
  const mine = visits;
  if (document.body.hasAttribute("data-out")) {
    // Somebody has logged in, in another tab.
    delete document.body.dataset.out;
    return open({ focus: false });
  }
  if (!shown?.loaded) return;
  // What is not there is not asked for again and again; everything else may be well by now.
  if (shown.failure?.isFinal) return;
  if (shown.failure) return open({ focus: false });
  if (!shown.place.refresh) return;
  try {
    await shown.place.refresh();
    if (mine === visits) paint();
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    if (failure.isSignedOut) showSignedOut();
    else if (!failure.isGone && mine === visits) { shown.failure = failure; paint(); }
  }
}

function header() {
  const box = document.getElementById("live");
  const [word, shape] = live.lost ? ["Not connected", "s-off"] : live.isSignedOut ? ["Logged out", "s-auth"] : ["Live", "s-ready"];
  if (box.textContent !== word) {
    box.dataset.is = word;
    fill(box, icon(shape), h("span", word));
  }
  const status = live.status;
  const up = document.getElementById("foot-up");
  // Of a daemon that does not answer nobody knows it.
  up.textContent = status && !live.lost ? `up ${span(status.uptime_seconds)}` : "";
  const waitingNow = (status?.problems ?? []).filter((row) => needsYou(row) && (row.quarantined || row.held)).length;
  const count = document.getElementById("waiting");
  count.hidden = waitingNow === 0;
  if (count.dataset.n !== String(waitingNow)) {
    count.dataset.n = String(waitingNow);
    fill(count, waitingNow, h("span.sr", " waiting"));
  }
  if (!status) return;
  named();
  document.getElementById("foot-version").textContent = `mcpproxy ${status.version}`;
  document.getElementById("foot-mode").textContent = `mode ${status.routing_mode}`;
  const url = document.getElementById("foot-url");
  if (status.url && !url.textContent) {
    fill(url, status.url, " ", h("button.link", { type: "button", on: { click: () => copy(status.url) } }, "copy"));
  }
}

/** From the theme of the system to the other one, and back. */
function themeSwitch() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  if (theme === system) delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === system) localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // Storage is switched off: the choice lasts as long as the page.
  }
  toast(theme === system ? `Theme: ${theme}, like the system` : `Theme: ${theme}`);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const { origin, pathname, hash } = new URL(link.href);
  if (link.target || link.hasAttribute("download") || origin !== location.origin || !/^\/ui(?:\/|$)/.test(pathname) || link.classList.contains("skip")) return;
  if (hash && pathname === location.pathname) return;
  event.preventDefault();
  visit(link.href);
});
/** What somebody began to fill in outlives the login. */
function typed({ target }) {
  if (shown && target.closest?.("[data-kept] form, form[data-kept]")) shown.isTyped = true;
}
main.addEventListener("input", typed);
main.addEventListener("click", (event) => event.target.closest?.("button") && typed(event));

/** Milliseconds without a key after which the words so far are searched for. */
const TYPED = 150;

/** Searches for the words of the header, in place of those before them. */
function find(how) {
  clearTimeout(typing);
  const text = document.getElementById("q").value.trim();
  const href = text ? `/ui/tools?q=${encodeURIComponent(text)}` : "/ui/tools";
  const isShown = href === location.pathname + location.search;
  if (!isShown || how.focus) visit(href, { replace: isShown || location.pathname === "/ui/tools", ...how });
}
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  find({ focus: true });
});
document.getElementById("q").addEventListener("input", () => {
  clearTimeout(typing);
  // What somebody began to fill in is left by a decision only.
  if (!shown?.isTyped) typing = setTimeout(find, TYPED, { focus: false });
});
document.getElementById("theme-switch").addEventListener("click", themeSwitch);
addEventListener("popstate", () => {
  // A place within the page is no other page.
  if (shown?.href !== location.pathname + location.search) open({ focus: false });
});
keyboard({ visit, leave: () => shown?.place.escape?.() });

await begin(heard);
if (!document.body.hasAttribute("data-out")) await open({ focus: false });
