// A notification of the browser when a server begins to need its person while the page is out of sight, where that was allowed.

import { button, state } from "./parts.js";
import { count } from "./words.js";

let before = null;

/** Tells that so many servers need a person now. */
export function told(n) {
  const isMore = before !== null && n > before;
  before = n;
  if (!isMore || !document.hidden || globalThis.Notification?.permission !== "granted") return;
  const shown = new Notification("mcpproxy", { body: `${count(n, "server needs", "servers need")} you`, tag: "mcpproxy" });
  shown.onclick = () => { window.focus(); shown.close(); };
}

/** The way to allow it, or what was decided. */
export function notifying(paint) {
  const permission = globalThis.Notification?.permission;
  if (permission === undefined) return null;
  if (permission === "granted") return state("ready", "Notifications are on in this browser");
  if (permission === "denied") return state("off", "Notifications are blocked in this browser");
  return button("Notify me in this browser", async () => { await Notification.requestPermission(); paint(); }, "btn", { title: "Shows a notification when a server needs you while this page is hidden" });
}
