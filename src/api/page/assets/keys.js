// The keyboard. Approving has no key.

const PLACES = { s: "/ui/", t: "/ui/tools", r: "/ui/review", a: "/ui/activity", n: "/ui/add", c: "/ui/clients", w: "/ui/access", u: "/ui/usage", ",": "/ui/settings" };

/** Milliseconds that the second key of two may take. */
const SECOND = 1200;

const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

function move(step) {
  const rows = [...document.querySelectorAll("[data-rows] [data-row]")].filter((row) => row.querySelector("a, button, input"));
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next.querySelector("a, button, input").focus();
}

/** `visit` opens a place; `leave` closes what `Esc` closes. */
export function keyboard({ visit, leave }) {
  let second = 0;
  const keys = document.getElementById("keys");
  const does = {
    "/": () => document.getElementById("q").focus(),
    "?": () => keys.open || keys.showModal(),
    g: () => { second = Date.now() + SECOND; },
    j: () => move(1),
    k: () => move(-1),
    ".": () => document.querySelector(".newrows")?.click(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || keys.open) return;
    const { target, key } = event;
    if (key === "Escape") {
      if (isTyping(target)) target.blur();
      else leave();
      return;
    }
    if (isTyping(target)) return;
    if (Date.now() < second) {
      second = 0;
      if (PLACES[key]) { event.preventDefault(); visit(PLACES[key]); }
      return;
    }
    if (does[key]) { event.preventDefault(); does[key](); }
  });
  document.getElementById("keys-open").addEventListener("click", does["?"]);
}
