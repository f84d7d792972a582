// The keyboard. Approving has no key.

import { fill, h } from "./dom.js";

/** What is opened by `g` and a key. */
const PLACES = {
  s: ["/ui/", "servers"], t: ["/ui/tools", "tools"], r: ["/ui/review", "review"], a: ["/ui/activity", "activity"], n: ["/ui/add", "add a server"],
  c: ["/ui/clients", "clients"], w: ["/ui/access", "access"], u: ["/ui/usage", "usage"], ",": ["/ui/settings", "settings"],
};

/** Keys, one after the other, and what they do. */
const HELP = [
  [["/"], "search tools"],
  ...Object.entries(PLACES).map(([key, [, word]]) => [["g", key], word]),
  [["j"], "next row"], [["k"], "previous row"], [["Enter"], "open the row"], [["."], "show new rows"], [["Esc"], "close the detail, or leave a field"], [["?"], "show these keys"],
];

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
  fill(keys.querySelector("dl"), HELP.map(([pressed, word]) => [h("dt", pressed.map((key, n) => [n ? " then " : null, h("kbd", key)])), h("dd", word)]));
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
      if (PLACES[key]) { event.preventDefault(); visit(PLACES[key][0]); }
      return;
    }
    if (does[key]) { event.preventDefault(); does[key](); }
  });
  document.getElementById("keys-open").addEventListener("click", does["?"]);
}
