// What is used: by tool, server and caller, over a day, a week or a month. The daemon adds it up from the activity log when this is opened.

import { ask, part, query } from "./api.js";
import { h, svg } from "./dom.js";
import { write } from "./exact.js";
import { acting, button, cell, empty, failed, go, head, labelled, row, save, segments, strip, table, toast, variant } from "./parts.js";
import { offerTools } from "./tool_switch.js";
import { ago, at, bytes, count, number, plain, said, short, some, span, tokens, took } from "./words.js";

const DAYS = ["1", "7", "30"];
const ORDERS = [["calls", "most calls first"], ["bytes", "largest answers first"], ["slow", "slowest first"], ["failed", "most errors first"]];

/** What an export says of each tool. */
const COLUMNS = ["server", "tool", "calls", "failed", "refused", "answer_bytes", "answer_tokens", "median_us", "p95_us", "last"];

/** Limit: tools that are shown at first, and callers and servers. */
const SHOWN = 20;
const NAMED = 8;

export function usage(first, frame) {
  let asked, sums, tools = [], most = SHOWN;
  const it = acting(frame);
  /** Servers that were ticked or not by hand. A log that is younger than the period proves of no tool that it is not needed. */
  const ticked = new Map();
  const isTicked = (server) => ticked.get(server) ?? sums.complete;

  const read = (now) => {
    asked = { days: DAYS.includes(now.get("days")) ? now.get("days") : "30", server: now.get("server") ?? "", caller: now.get("caller") ?? "", order: ORDERS.some(([key]) => key === now.get("order")) ? now.get("order") : "calls" };
  };
  read(first);

  async function load() {
    const [answer, list] = await Promise.all([ask(query("usage", { days: asked.days, server: asked.server, caller: asked.caller })), ask("tools")]);
    [sums, tools] = [answer, list.tools];
  }

  const address = (changes) => query("/ui/usage", { ...asked, ...changes });
  const change = (changes) => frame.visit(address(changes));

  function choice(label, key, options) {
    const known = options.some(([value]) => value === asked[key]) ? options : [...options, [asked[key], asked[key]]];
    return h("label", h("span.sr", label), h("select", { "data-key": `${key} ${asked[key]}`, on: { change: (event) => change({ [key]: event.target.value }) } }, known.map(([value, word]) => h("option", { value, selected: value === asked[key] }, plain(word)))));
  }

  const meter = (n, of) => svg("svg.meter", { viewBox: "0 0 88 6", "aria-hidden": "true" }, svg("rect.bgd", { class: "bgd", width: 88, height: 6 }), svg("rect", { width: Math.max(1, Math.round((88 * n) / Math.max(1, of))), height: 6 }));

  const share = (failed, calls) => (failed ? h("span.bad", `${((100 * failed) / calls).toFixed(1)} %`) : h("span.dim", "0"));

  function bars() {
    const top = Math.max(1, ...sums.stretches.map(([calls]) => calls));
    const n = sums.stretches.length;
    const width = 1000 / n;
    const bar = (calls, i, kind) => {
      const height = Math.round((64 * calls) / top);
      return calls ? svg("rect", { class: kind, x: Math.round(i * width), y: 64 - height, width: Math.max(1, Math.round(width) - 4), height }) : null;
    };
    const word = n === 24 && asked.days === "1" ? "per hour" : "per day";
    const chart = svg("svg.days", { viewBox: "0 0 1000 64", preserveAspectRatio: "none", role: "img", "aria-label": `Calls ${word}: ${number(top)} at most` },
      sums.stretches.map(([calls, failed], i) => [bar(calls, i, ""), bar(failed, i, "x")]));
    return [h("header.bar", h("h2", { id: "d-h" }, `Calls ${word}`), h("span.small.dim", "red: errors")), chart, h("p.axis", { "aria-hidden": "true" }, h("span", asked.days === "1" ? "24 h ago" : `${asked.days} days ago`), h("span", "now"))];
  }

  const value = { calls: (one) => one.calls, bytes: (one) => one.answer_bytes, slow: (one) => one.p95_us ?? 0, failed: (one) => one.failed };

  function used() {
    const rows = sorted();
    if (!rows.length) return empty("No tool was called in this time.", "New calls appear here when you open this page again.");
    const max = Math.max(...rows.map((one) => one.calls));
    const types = new Map(tools.map((tool) => [tool.name, tool.call_with]));
    const line = (one) => row(`${one.server}:${one.tool}`, [
      head("mono grow", h("a", { href: `/ui/tools/${part(`${one.server}:${one.tool}`)}` }, said(one.server), h("span.dim", ":"), said(one.tool))),
      cell("", variant(types.get(`${one.server}:${one.tool}`))),
      labelled("r nowrap l2", "calls", meter(one.calls, max), h("span.num", number(one.calls))),
      labelled("r l2", "answers", bytes(one.answer_bytes), h("span.dim", ` ≈ ${short(one.answer_tokens)}`)),
      cell("r l2 hide", took(one.median_us)),
      labelled("r l2", "p95", took(one.p95_us)),
      labelled("r l2", "errors", one.failed || one.refused ? h("a", { href: query("/ui/activity", { tool: `${one.server}:${one.tool}`, result: "bad" }) }, one.failed ? share(one.failed, one.calls) : null, one.failed && one.refused ? ", " : null, one.refused ? h("span.dim", `${number(one.refused)} refused`) : null) : share(0, 1)),
      cell("soft hide", said(some(one.callers, 3))),
      cell("r dim hide", one.last ? ago(one.last) : ""),
    ]);
    return [
      table("fold.two", [["Tool"], ["Type"], ["Calls", "r"], ["Answers ≈ tokens", "r"], ["p50", "r"], ["p95", "r"], ["Errors", "r"], ["Callers"], ["Last call", "r"]], [rows.slice(0, most).map(line)]),
      rows.length > most ? h("p.bar.sec", button(`Show all ${number(rows.length)}`, () => { most = rows.length; frame.paint(); })) : null,
    ];
  }

  const sorted = () => [...sums.tools].sort((a, b) => value[asked.order](b) - value[asked.order](a));

  const file = () => ["usage", `${asked.days}d`, asked.server, asked.caller].filter(Boolean).join("-");

  const json = () => `${write({ ...sums, tools: sorted() }, 2)}\n`;

  /** The table of tools. A spreadsheet takes no name in it for a formula. */
  function csv() {
    const quoted = (text) => `"${`${/^[=+\-@\t\r]/.test(text) ? "'" : ""}${text}`.replaceAll("\"", "\"\"")}"`;
    const written = (one) => COLUMNS.map((key) => (typeof one[key] === "string" ? quoted(one[key]) : one[key] ?? ""));
    return [COLUMNS, ...sorted().map(written)].map((line) => `${line.join(",")}\r\n`).join("");
  }

  /** Tools that agents find and nobody called, by server. */
  function never() {
    const called = new Set(sums.tools.map((one) => `${one.server}:${one.tool}`));
    const by = new Map();
    for (const tool of tools) {
      if (!tool.callable || called.has(tool.name) || (asked.server && tool.server !== asked.server)) continue;
      by.set(tool.server, [...(by.get(tool.server) ?? []), tool.name.slice(tool.server.length + 1)]);
    }
    return by;
  }

  function disable(by) {
    const servers = [...by].filter(([server]) => isTicked(server));
    const act = (word, doIt) => it.act(word, () => doIt().then(load));
    return servers.length && act("Disabling…", async () => {
      const undo = await offerTools(new Map(servers), false);
      toast(`Disabled ${count(servers.reduce((n, [, names]) => n + names.length, 0), "tool")}`, () => act("Undoing…", undo));
    });
  }

  function unused() {
    // Of one caller it is no news that he does not use a tool.
    if (asked.caller) return null;
    const by = never();
    if (!by.size) return null;
    const all = new Map();
    for (const tool of tools) all.set(tool.server, (all.get(tool.server) ?? 0) + 1);
    const line = ([server, names]) => {
      const id = `nv-${server}`.replace(/[^\w-]/g, "_");
      return row(`never ${server}`, [
        cell("tight", h("input", { type: "checkbox", id, checked: isTicked(server), disabled: Boolean(it.doing), on: { change: (event) => { ticked.set(server, event.target.checked); frame.paint(); } } })),
        head("grow", h("label", { for: id }, said(server))),
        labelled("r", "tools", `${number(names.length)} of ${number(all.get(server))}`),
        cell("full soft", names.slice(0, 4).map((name, i) => [i ? ", " : "", h("code", said(name))]), names.length > 4 ? ` and ${number(names.length - 4)} more` : ""),
      ]);
    };
    const n = [...by].filter(([server]) => isTicked(server)).reduce((sum, [, names]) => sum + names.length, 0);
    return h("section.sec", { "aria-labelledby": "nv-h" },
      h("header", h("h2", { id: "nv-h" }, !sums.complete ? ["Never called since ", at(sums.from)] : asked.days === "1" ? "Never called in 24 hours" : `Never called in ${asked.days} days`), h("p", sums.complete ? "agents still find these tools" : "the log began then; agents still find these tools")),
      it.failure ? failed(it.failure) : null,
      table("fold", [["Disable", "", true], ["Server"], ["Unused tools", "r"], ["Names"]], [[...by].map(line)]),
      h("div.bar.sec", it.doing ? h("span.wait", { role: "status" }, it.doing) : n ? [button(`Disable ${count(n, "tool")}`, () => disable(by)), h("span.small.dim", "Hides the tools from agents. You can enable each one again on its server’s page.")] : h("span.small.dim", "Choose the servers whose unused tools you want to hide from agents.")));
  }

  function by(title, key, rows, href, more = null) {
    if (!rows.length) return null;
    const max = rows[0].calls;
    const line = (one) => row(`${key} ${one.name}`, [head("", h("a.go", { href: href(one.name) }, said(one.name || "unknown")), key === "Caller" && one.clients.some((name) => name !== one.name) ? h("span.sub.block", said(some(one.clients, 4))) : null), cell("r", meter(one.calls, max), h("span.num", number(one.calls)))]);
    return h("section.sec", { "aria-label": title }, h("header", h("h2", title)), table("dense", [[key, "", true], ["Calls", "", true]], [rows.slice(0, NAMED).map(line)]),
      rows.length > NAMED ? h("p.hint", `and ${number(rows.length - NAMED)} more`) : null,
      more);
  }

  function saved() {
    const { all, client_days: days, searches, sent, not_sent: not } = sums.definitions;
    return h("section.sec", { "aria-labelledby": "ns-h" }, h("header", h("h2", { id: "ns-h" }, "Definitions not sent")),
      h("dl.facts", h("dt", "All definitions"), h("dd", `${short(all)} tokens`), h("dt", "Days with calls, all clients"), h("dd", number(days)), h("dt", "Without mcpproxy"), h("dd", `${short(all * days)} tokens`), h("dt", "Sent by searches"), h("dd", `${short(sent)} tokens, ${count(searches, "time")}`), h("dt", "Not sent"), h("dd", h("b", `${short(not)} tokens`))),
      h("p.hint", "An estimate, at 4 bytes a token, for clients that would load all definitions once on every day with a call. It also counts clients of /mcp/all, which save nothing."));
  }

  function render() {
    const { all } = sums;
    const servers = [...new Set([...tools.map((tool) => tool.server), ...(asked.server ? [asked.server] : [])])].sort();
    const callers = [...new Set([...sums.callers.map((one) => one.name).filter(Boolean), ...(asked.caller ? [asked.caller] : [])])].sort();
    const period = asked.days === "1" ? "24 hours" : `${asked.days} days`;
    return [
      h("div.title", h("div", h("h1", "Usage"), h("p.sub", `${count(all.calls, "call")} in ${period}.`, sums.complete ? "" : [" The log goes back ", span((Date.now() - Date.parse(sums.from)) / 1000), "."]))),
      h("div.bar", segments("Period", [["1", "24 h"], ["7", "7 d"], ["30", "30 d"]].map(([days, word]) => ({ word, href: address({ days }), current: days === asked.days }))),
        choice("Server", "server", [["", "all servers"], ...servers.map((name) => [name, name])]),
        choice("Caller", "caller", [["", "all callers"], ...callers.map((name) => [name, name])]),
        choice("Order", "order", ORDERS),
        sums.tools.length ? h("span.end.acts", button("Export CSV", () => save(csv(), `${file()}.csv`), "link small"), button("Export JSON", () => save(json(), `${file()}.json`), "link small")) : null),
      strip([["Calls", number(all.calls)], ["Errors", all.failed ? `${number(all.failed)}, ${((100 * all.failed) / all.calls).toFixed(1)} %` : "0"], ["Refused", number(all.refused)], ["Answers", `${bytes(all.answer_bytes)} ≈ ${short(tokens(all.answer_bytes))} tokens`], ["p50 / p95", `${took(all.median_us)} / ${took(all.p95_us)}`], ["Definitions not sent", h("b", `≈ ${short(sums.definitions.not_sent)} tokens`)]]),
      h("div.cols", h("section", { "aria-labelledby": "d-h" }, bars(), used(), unused()),
        h("aside.rail", { "aria-label": "Totals" }, saved(),
          by("By caller", "Caller", sums.callers, (caller) => address({ caller })), by("By server", "Server", sums.servers, (server) => address({ server }), asked.server || sums.servers.reduce((n, one) => n + one.calls, 0) === all.calls ? null : h("p.hint", "Not counted here: searches, built-in tools, and calls to tools that do not exist.")))),
      all.calls ? null : h("p.acts", go("Connect a client", "/ui/clients")),
    ];
  }

  return { title: "Usage", tab: "usage", filters: Object.keys(asked), waiting: "Adding up the log…", load, render, navigate: (now) => { read(now); return load(); } };
}
