// The history of the configuration file, of tokens and of approvals: who changed what, with a button that undoes it.

import { ask, undoChanges } from "./api.js";
import { h } from "./dom.js";
import { acting, button, cell, head, row, section, table, toast, undoneWords, wrong } from "./parts.js";
import { nameClients, titleOf } from "./imports.js";
import { GROUPS } from "./setting_names.js";
import { mayWord } from "./tokens.js";
import { at, said, some } from "./words.js";

/** Entries that are shown at first. */
const FIRST = 8;

const WAYS = { terminal: "terminal", page: "this page", rest: "REST", agent: "agent", file: "an editor" };

const NAMES = new Map(GROUPS.flatMap(([, keys]) => keys));

/** What was changed, in words. */
function named({ path, before, after }) {
  const [where, name, ...rest] = path;
  const became = before === undefined ? " added" : after === undefined ? " removed" : " changed";
  if (where === "tokens") return ["Token ", said(name), after === undefined ? " revoked" : " issued"];
  if (where === "profiles" && name) return ["Profile ", said(name), rest.length ? [": ", said(rest.join("."))] : became];
  if (where === "mcpServers" && name) return ["Server ", said(name), rest.length ? [": ", h("code", said(rest.join(".")))] : became];
  return NAMES.get(path.join(".")) ?? h("code", said(path.join(".")));
}

/** A whole token or entry in words; anything else as it is written. */
function text(path, value) {
  if (typeof value === "string") return value;
  if (path.length === 2 && path[0] === "tokens") {
    const where = value.profile ? `profile ${value.profile}` : value.servers ? some(value.servers, 4) : "all servers";
    return `${mayWord(value.calls)}; ${where}; ${value.expires ? `until ${value.expires.slice(0, 10)}` : "never expires"}`;
  }
  if (path.length === 2 && path[0] === "mcpServers") return value.url ?? [value.command, value.args ?? []].flat().join(" ");
  return JSON.stringify(value);
}

export function history(frame, changed) {
  let entries = [];
  let isAll = false;
  const it = acting(frame);

  async function load() {
    entries = (await ask("config/history")).entries;
  }

  const undo = async (entry) => {
    if (it.doing) return;
    await it.act("Undoing…", () => undone(entry));
    if (it.failure) document.getElementById("h-history")?.scrollIntoView({ block: "start" });
  };

  const undone = async (entry) => {
    const back = await undoChanges([entry.id]);
    const [twice] = await Promise.all([alsoStarted(entry), load(), changed()]);
    toast(undoneWords(`Undid change ${entry.id}`, back) + twice);
  };

  /** Which servers that came back with it the clients still start themselves. */
  async function alsoStarted(entry) {
    const names = entry.changes.filter(({ path: [where, , key], after }) => where === "mcpServers" && !key && after === undefined).map(({ path }) => path[1]);
    if (!names.length) return "";
    const [{ servers: found }, { clients: known }] = await Promise.all([ask("import"), ask("clients")]).catch(() => [{ servers: [] }, { clients: [] }]);
    nameClients(known);
    const clients = [...new Set(found.filter((one) => one.outcome === "same" && names.includes(one.name)).map((one) => titleOf(one.client)))];
    return clients.length ? `. ${some(clients, 3)} also ${clients.length === 1 ? "starts" : "start"} these servers: move them on the Clients page` : "";
  }

  const value = (path, one) => (one === undefined || one === null ? h("span.dim", "–") : h("code", said(text(path, one)).map((piece) => (typeof piece === "string" && piece.length > 120 ? `${piece.slice(0, 120)}…` : piece))));

  /** Whether a later change is about the same, and in force. */
  function isOverlaid(entry) {
    if (entry.undone_by) return false;
    const isIn = (path, other) => other.every((key, i) => key === path[i]);
    const later = entries.filter((other) => other.id > entry.id && !other.undoes && !other.undone_by).flatMap((other) => other.changes);
    return later.some(({ path }) => entry.changes.some((one) => isIn(path, one.path) || isIn(one.path, path)));
  }

  function line(entry) {
    const [first, ...more] = entry.changes;
    const what = first ? [named(first), more.length ? h("details.small", h("summary", `and ${more.length} more`), h("ul", more.map((one) => h("li", named(one))))) : ""] : "only comments or spaces";
    const who = entry.by === "operator" ? `you, ${WAYS[entry.way] ?? entry.way}` : `${entry.by}, ${WAYS[entry.way] ?? entry.way}`;
    // Of a token that was revoked nothing is kept, and an approval that was taken back takes another review.
    const isFinal = (first?.path[0] === "tokens" && first.after === undefined) || (entry.undoes && entry.changes.some((one) => one.path[0] === "approvals"));
    const state = !isFinal && isOverlaid(entry) ? h("span.dim", "replaced by a later change") : isFinal ? h("span.dim", entry.undoes ? "" : "cannot be undone") : entry.undone_by ? h("span.dim", "undone") : button("Undo", () => undo(entry), "btn small", { "aria-label": `Undo change ${entry.id}` });
    return row(`change ${entry.id}`, [
      cell("nowrap dim", at(entry.at)),
      head("grow", entry.undoes ? ["undo of ", h("span.num", entry.undoes), ": ", what] : what),
      cell("full", first ? value(first.path, first.before) : ""),
      cell("full", first ? value(first.path, first.after) : ""),
      cell("soft", said(who)),
      cell("act full", state),
    ]);
  }

  function render() {
    const shown = isAll ? entries : entries.slice(0, FIRST);
    const more = entries.length - shown.length;
    return section("History", h("p", "changes to the configuration file, tokens and approvals"),
      it.failure ? wrong(it.failure) : null,
      shown.length ? table("fold", [["Time"], ["Change"], ["From"], ["To"], ["By"], ["Action", "", true]], [shown.map(line)]) : h("p.dim", "No changes yet."),
      more > 0 ? h("p.bar.sec", button(`Show ${more} older`, () => { isAll = true; frame.paint(); })) : null);
  }

  return { load, render };
}
