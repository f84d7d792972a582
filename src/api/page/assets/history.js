// The history of the configuration file: who changed what, with a button that undoes it.

import { Failure, ask, post } from "./api.js";
import { h } from "./dom.js";
import { button, cell, failed, head, row, section, table, toast } from "./parts.js";
import { at, said } from "./words.js";

/** Entries that are shown at first. */
const FIRST = 8;

const WAYS = { terminal: "terminal", page: "this page", rest: "REST", agent: "agent", file: "an editor" };

export function history(frame, changed) {
  let entries = [];
  let isAll = false;
  let failure = null;

  async function load() {
    entries = (await ask("config/history")).entries;
  }

  async function undo(entry) {
    failure = null;
    try {
      await post("config/undo", { id: entry.id });
      await Promise.all([load(), changed()]);
      toast(`Undid change ${entry.id}`);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = error;
    }
    frame.paint();
  }

  const value = (one) => (one === undefined ? h("span.dim", "–") : h("code", said(typeof one === "string" ? one : JSON.stringify(one)).map((piece) => (typeof piece === "string" && piece.length > 120 ? `${piece.slice(0, 120)}…` : piece))));

  function line(entry) {
    const [first, ...more] = entry.changes;
    const what = first ? [h("code", said(first.path.join("."))), more.length ? ` and ${more.length} more` : ""] : "comments or blanks";
    const who = entry.by === "operator" ? `you, ${WAYS[entry.way] ?? entry.way}` : `${entry.by}, ${WAYS[entry.way] ?? entry.way}`;
    const state = entry.undone_by ? h("span.dim", "undone") : button("Undo", () => undo(entry), "btn small", { "aria-label": `Undo change ${entry.id}` });
    return row(`change ${entry.id}`, [
      cell("nowrap dim", at(entry.at)),
      head("grow", entry.undoes ? ["undo of ", h("span.num", entry.undoes), ": ", what] : what),
      cell("full", value(first?.before)),
      cell("full", value(first?.after)),
      cell("soft", said(who)),
      cell("act full", state),
    ]);
  }

  function render() {
    const shown = isAll ? entries : entries.slice(0, FIRST);
    const more = entries.length - shown.length;
    return section("History", h("p", "every change of the configuration file"),
      failure ? failed(failure) : null,
      shown.length ? table("fold", [["Time"], ["Change"], ["From"], ["To"], ["By"], ["Action", "", true]], [shown.map(line)]) : h("p.dim", "No changes yet."),
      more > 0 ? h("p.bar.sec", button(`Show ${more} older`, () => { isAll = true; frame.paint(); })) : null);
  }

  return { load, render };
}
