// Every call, refusal and change, the newest first. What is new waits until it is asked for, unless somebody stands at the top.

import { ask, query } from "./api.js";
import { h, icon } from "./dom.js";
import { recordDrawer } from "./record_drawer.js";
import { live } from "./live.js";
import { button, cell, head, outcome, row, table, variant } from "./parts.js";
import { PAGE, asker, detail, isFailed, rowsOf, thing, thingShown } from "./records.js";
import { at, count, number, plain, said, short, tokens, took } from "./words.js";

/** Records that are read at once. */
const READ = 200;

const RESULTS = [["", "any result"], ["bad", "failed or refused"], ["ok", "ok"], ["tool_error", "tool error"], ["failed", "failed"], ["refused", "refused"], ["invalid", "invalid"], ["withdrawn", "withdrawn"]];
const TIMES = [["", "any time"], ["1h", "last hour"], ["today", "today"], ["7d", "7 days"]];
const KINDS = [["", "calls and refusals"], ["change", "changes by people and agents"], ["server", "starts and ends of servers"], ["daemon", "the daemon"], ["all", "everything"]];
const KEYS = ["text", "result", "server", "caller", "tool", "call", "run", "kind", "since"];

export function activity(id, first, frame) {
  let asked = {};
  let records = [];
  let next = null;
  let fresh = [];
  let open = id;
  let drawn = null;
  let servers = [];
  const callers = new Set();
  let isPaused = false;

  const read = (now) => { asked = Object.fromEntries(KEYS.map((key) => [key, now.get(key) ?? ""])); };
  read(first);

  /** What the daemon looks for; the rest is looked for here. */
  function wanted(more) {
    const kind = asked.kind === "all" ? "" : asked.kind;
    const result = asked.result === "bad" ? "" : asked.result;
    const isCall = /^c\d+$/.test(asked.text);
    return query("activity", { kind, outcome: result, server: asked.server, caller: asked.caller, tool: asked.tool, call: asked.call || (isCall ? asked.text : ""), run: asked.run, since: asked.since, ...more });
  }

  function fits(record) {
    if (!asked.kind && !["call", "refusal", "gap"].includes(record.kind)) return false;
    if (asked.result === "bad" && !isFailed(record) && record.outcome !== "refused") return false;
    if (!asked.text || /^c\d+$/.test(asked.text)) return true;
    const text = asked.text.toLowerCase();
    return [thing(record), record.caller, record.client, record.code, record.error, record.call, record.action].some((value) => value?.toLowerCase().includes(text));
  }

  async function load() {
    fresh = [];
    const [page, list] = await Promise.all([ask(wanted({ limit: READ })), ask("servers")]);
    [records, next] = [page.records, page.next];
    servers = list.servers.map((one) => one.name);
    for (const record of records) if (record.caller) callers.add(record.caller);
    await draw();
  }

  async function draw() {
    if (open === null) {
      drawn = null;
      return;
    }
    drawn = await recordDrawer(open, closeHref());
  }

  async function older() {
    const page = await ask(wanted({ limit: READ, cursor: next }));
    records = [...records, ...page.records];
    next = page.next;
    frame.paint();
  }

  async function refresh() {
    if (isPaused) return;
    const newest = fresh[0]?.id ?? records[0]?.id ?? 0;
    const page = await ask(wanted({ after: newest, limit: PAGE }));
    fresh = [...page.records.reverse(), ...fresh].slice(0, PAGE);
    if (isFlowing()) take();
  }

  /** At the top, with nothing held: then new rows may move the others. */
  function isFlowing() {
    const list = document.querySelector("[data-calls]");
    const held = list && (list.contains(document.activeElement) || list.matches(":hover") || !getSelection().isCollapsed);
    return scrollY < 40 && !held && open === null;
  }

  function take() {
    records = [...fresh, ...records].slice(0, PAGE * 3);
    fresh = [];
  }

  const address = (changes) => query("/ui/activity", { ...asked, ...changes });
  const closeHref = () => address({});
  /** A filter is a step that *Back* undoes. */
  function change(changes) {
    const to = address(changes);
    if (to !== address({})) frame.visit(to);
  }

  function choice(label, key, options) {
    const known = options.some(([value]) => value === asked[key]) ? options : [...options, [asked[key], asked[key]]];
    return h("label", h("span.sr", label), h("select", { "data-key": `${key} ${asked[key]}`, on: { change: (event) => change({ [key]: event.target.value }) } }, known.map(([value, word]) => h("option", { value, selected: value === asked[key] }, plain(word)))));
  }

  function filters(rows) {
    const refused = rows.filter((record) => record.outcome === "refused").length;
    // *Enter* ends a change of it before it submits the form.
    const text = h("input.filter", { type: "search", id: "a-text", placeholder: "Filter: tool, caller, code or call id", value: asked.text, on: { change: (event) => change({ text: event.target.value.trim() }) } });
    return h("form.bar.behind", { "aria-label": "Filter", on: { submit: (event) => event.preventDefault() } },
      h("label.sr", { for: "a-text" }, "Text"), text,
      choice("Kind", "kind", KINDS), choice("Result", "result", RESULTS),
      choice("Server", "server", [["", "all servers"], ...servers.map((name) => [name, name])]),
      choice("Caller", "caller", [["", "all callers"], ...[...callers].map((name) => [name, name])]),
      choice("Time", "since", TIMES),
      asked.tool || asked.call ? button(`${asked.tool || asked.call}: show all`, () => change({ tool: "", call: "", run: "" }), "link") : null,
      h("span.end.dim.small", { role: "status" }, next === null ? `${number(rows.length)}, ${number(rows.filter(isFailed).length)} failed, ${number(refused)} refused` : `the newest ${number(rows.length)}: ${number(rows.filter(isFailed).length)} failed, ${number(refused)} refused`));
  }

  function render() {
    const rows = rowsOf(records.filter(fits));
    const waits = rowsOf(fresh.filter(fits)).length;
    const pause = button(isPaused ? "Go on" : "Pause", () => { isPaused = !isPaused; if (!isPaused) frame.soon(); frame.paint(); }, "btn", { "aria-pressed": String(isPaused) });
    const exported = { kind: asked.kind === "all" ? "" : asked.kind, server: asked.server, caller: asked.caller, tool: asked.tool, since: asked.since, format: "jsonl" };
    return [
      h("div.title", h("div", h("h1", "Activity"), h("p.sub.behind", "Every call, also refused ones, and every change. Times are those of this machine.")),
        h("div.acts.behind", pause, h("a.btn", { href: query("/api/v1/activity/export", exported), download: "activity.jsonl" }, "Export these"))),
      filters(rows),
      h("div.cols.mid", { "data-open": open === null ? undefined : "" },
        h("section.behind", { "aria-labelledby": "rows-h", "data-calls": "" }, h("h2.sr", { id: "rows-h" }, "Calls"),
          waits ? h("button.newrows", { type: "button", on: { click: () => { take(); frame.paint(); } } }, icon("up"), ` ${count(waits, "new row")}, show ${waits === 1 ? "it" : "them"} `, h("kbd.phone-no", ".")) : null,
          rows.length ? list(rows) : nothing(),
          next === null ? null : h("p.bar.sec", button("Show older", older), h("span.dim.small", "back to ", at(records[records.length - 1]?.time ?? new Date().toISOString())))),
        drawn ? drawn.render() : h("aside.drawer.dim.phone-no", { "aria-label": "Detail" }, h("p", "Choose a row to see everything that is known of it."))),
    ];
  }

  function nothing() {
    const isFiltered = KEYS.some((key) => asked[key]);
    if (isFiltered) return h("div.empty", h("b", "Nothing fits these filters."), next === null ? "Nothing in the whole log does." : "Nothing of what was read does; older records may.", h("p.acts", button("Show everything", () => frame.visit("/ui/activity"))));
    return h("div.empty", h("b", "No call yet."), "Connect a client to ", live.status?.url ? h("code", live.status.url) : "mcpproxy", "; what it calls stands here.");
  }

  function list(rows) {
    const line = (record) => row(`a${record.id}`, [
      cell("nowrap dim", at(record.time)),
      head("mono grow", h("a", { href: `/ui/activity/${record.id}${address({}).slice("/ui/activity".length)}`, "aria-current": String(record.id) === open ? "true" : undefined }, thingShown(record))),
      cell("l2", variant(record.variant)),
      cell("", outcome(record)),
      cell("dim l2", said(detail(record).slice(0, 80))),
      cell("soft nowrap l2", said(asker(record))),
      cell("r l2", record.duration_us === undefined ? "" : took(record.duration_us)),
      cell("r dim hide", record.answer_bytes === undefined ? "" : short(tokens(record.answer_bytes))),
    ], { "aria-selected": String(record.id) === open ? "true" : undefined });
    return table("fold.two.dense", [["Time"], ["What"], ["Class"], ["Result"], ["Detail"], ["Caller"], ["Took", "r"], ["Tokens", "r"]], [rows.map(line)]);
  }

  return {
    title: "Activity", tab: "activity", waiting: "Reading the last calls…", load, refresh, render,
    escape: () => open !== null && frame.visit(closeHref()),
    /** Another address of the same place: a record opens beside the list, and the list stays. */
    async adopt(address) {
      const found = /^\/ui\/activity(?:\/([^/]+))?\/?$/.exec(address.pathname);
      if (!found) return false;
      const before = JSON.stringify(asked);
      read(address.searchParams);
      // What was typed there stays otherwise.
      const text = document.getElementById("a-text");
      if (text) text.value = asked.text;
      open = found[1] ?? null;
      await (JSON.stringify(asked) === before ? draw() : load());
      return true;
    },
  };
}
