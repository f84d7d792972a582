// What people decided of servers and definitions of late.

import { ask, part, query } from "./api.js";
import { h } from "./dom.js";
import { button } from "./parts.js";
import { at, brief, count, said, some } from "./words.js";

/** Decisions that are listed. */
const LISTED = 5;

/** Limit: changes that are read of the week. */
const READ = 1000;

/** Milliseconds within which the approval of a server and its release are one decision. */
const ONE = 5000;

const WORDS = { approve: "approved", lift_quarantine: "approved", quarantine: "quarantined" };

/** The decisions of the last 7 days, the newest first, each with whether it was taken back, and an approval with the change that can be undone. */
export async function decisions() {
  const [{ records }, { entries }] = await Promise.all([ask(query("activity", { kind: "change", outcome: "ok", since: "7d", limit: READ })), ask("config/history")]);
  const changeOf = ({ action, server, time }) => {
    const isHeld = action === "quarantine";
    const isIt = ({ path: [where, name, key], after }) => name === server && (key === "quarantined" ? (after === true) === isHeld : where === "approvals" && !isHeld);
    const away = (entry) => Math.abs(Date.parse(entry.at) - Date.parse(time));
    return entries.filter((entry) => !entry.undoes && entry.changes.some(isIt) && away(entry) < ONE).sort((a, b) => away(a) - away(b))[0];
  };
  return decisionsAmong(records).map((record) => {
    const change = changeOf(record);
    return { ...record, isTakenBack: Boolean(change?.undone_by), change: record.action !== "quarantine" && !change?.undone_by ? change?.id : undefined };
  });
}

/** Those of changes that are decisions, each once. */
export function decisionsAmong(records) {
  const found = records.filter((record) => record.outcome === "ok" && WORDS[record.action] && record.server);
  const isSecond = (record) => record.action === "lift_quarantine" && found.some((other) => other.action === "approve" && other.server === record.server && Math.abs(Date.parse(other.time) - Date.parse(record.time)) < ONE);
  return found.filter((record) => !isSecond(record));
}

/** They as a list, with all of them behind it; `undo` takes one back. */
export function decidedList(decided, undo) {
  const all = (word) => h("a.u", { href: "/ui/activity?kind=decision&since=7d" }, word);
  if (!decided.length) return h("p.hint.sec", "Nothing was approved or quarantined in the last 7 days. ", h("a", { href: "/ui/activity?kind=change&since=7d" }, "All changes"));
  const held = decided.filter((record) => record.action === "quarantine").length;
  const approved = decided.length - held;
  const summary = [approved ? `${count(approved, "approval")}` : "", held ? `${held} quarantined` : ""].filter(Boolean).join(", ");
  const line = (record) => h("li", { "data-key": `d${record.id}` },
    h("a", { href: `/ui/activity/${record.id}?kind=decision&since=7d` }, at(record.time)), " ", WORDS[record.action], " ", h("a.u", { href: `/ui/servers/${part(record.server)}` }, said(record.server)), record.isTakenBack ? h("span.dim", ", undone") : record.change ? [" ", button("Undo", () => undo(record.change, record.server), "link small", { "aria-label": `Undo the approval of ${record.server}` })] : null,
    record.detail ? h("div.sub.cut", { title: record.detail }, said(some(brief(record.detail).split(", "), LISTED))) : null);
  return h("section.decided.sec", { "aria-labelledby": "decided-h" }, h("h3.hint", { id: "decided-h" }, "Decided in the last 7 days: ", all(summary)), h("ul.small", decided.slice(0, LISTED).map(line)),
    decided.length > LISTED ? h("p.hint", `The newest ${LISTED} of ${decided.length} are shown. `, all("Show all")) : null);
}
