// One server: its state, what was called, its starts, its log as it grows, its tools and its entry.

import { ask, part, post, query, remove as take } from "./api.js";
import { h } from "./dom.js";
import { logView } from "./log.js";
import { reason } from "./overview.js";
import { button, cell, confirm, crumbs, facts, failed, go, head, json, labelled, note, row, section, serverState, state, strip, table, toast, variant } from "./parts.js";
import { PAGE, asker, isFailed, percentile, rowsOf } from "./records.js";
import { at, bytes, capital, count, number, said, some, span, took } from "./words.js";

/** Tools and starts that are shown at first. */
const FEW = { tools: 8, starts: 6 };

/** Milliseconds that a restart may take. */
const RESTART = 120_000;

export function server(name, frame) {
  const path = `servers/${part(name)}`;
  const log = logView(name);
  let details, tools, calls, starts;
  let isAll = false;
  let asked = null;
  let doing = null;
  let failure = null;
  let reading = Promise.resolve();
  let isEnding = false;

  const load = () => (reading = read());

  async function read() {
    [details, tools, calls, starts] = await Promise.all([
      ask(path),
      ask(query("tools", { server: name })),
      ask(query("activity", { server: name, kind: "call", since: "24h", limit: PAGE })),
      ask(query("activity", { server: name, kind: "server", since: "24h", limit: PAGE })),
    ]);
    await log.load();
  }

  /** Does something, says so meanwhile, and shows what came of it. */
  async function act(word, doIt, undo) {
    if (doing) return;
    [doing, failure, asked] = [word, null, null];
    frame.paint();
    try {
      await doIt();
      if (undo) toast(undo.text, undo.act);
    } catch (error) {
      failure = error;
    }
    doing = null;
    await load().catch((error) => { failure ??= error; });
    frame.paint();
    frame.soon();
  }

  const verb = (verb) => post(`${path}/${verb}`, undefined, { patience: RESTART });
  const enable = () => act("Enabling…", () => verb("enable"), { text: `Enabled ${name}`, act: disable });
  const disable = () => act("Disabling…", () => verb("disable"), { text: `Disabled ${name}`, act: enable });

  function actions(one) {
    if (doing) return [h("span.wait", { role: "status" }, doing)];
    if (!one.transport) return [];
    const usable = one.enabled && !one.quarantined;
    const remote = one.transport !== "stdio";
    return [
      one.quarantined ? go("Review", `/ui/review/${part(name)}`, "btn primary") : null,
      !one.quarantined && one.held ? go("Compare", `/ui/review/${part(name)}`, "btn primary") : null,
      usable && one.state === "Authenticating" ? go("Sign in", `/ui/servers/${part(name)}/login`, "btn primary") : null,
      usable ? button("Restart", () => act("Restarting…", () => verb("restart"))) : null,
      one.enabled ? button("Disable", disable) : button("Enable", enable),
      one.quarantined ? null : button("Quarantine", () => { asked = "quarantine"; frame.paint(); }),
      remote && usable && one.state !== "Authenticating" && details.entry?.headers?.Authorization === undefined ? button("Log out", () => act("Logging out…", () => verb("logout"))) : null,
      go("Edit", `/ui/servers/${part(name)}/edit`),
    ];
  }

  function question(one) {
    const keep = () => { asked = null; frame.paint(); };
    if (asked === "quarantine") {
      const what = `Calls to it are refused and its ${count(one.tools ?? 0, "tool")} are in no list until a person approves it.`;
      return confirm(`Quarantine ${name}?`, what, `Quarantine ${name}`, () => act("Quarantining…", () => verb("quarantine")), keep);
    }
    return null;
  }

  function render() {
    const one = details.server;
    const rows = rowsOf(calls.records);
    const times = rows.map((record) => record.duration_us).filter((time) => time !== undefined);
    const bad = rows.filter(isFailed).length;
    const ends = starts.records.filter((record) => record.outcome === "failed").length;
    const began = starts.records.filter((record) => record.action === "ready").length;
    const clients = [...new Set(rows.map(asker).filter(Boolean))];
    return [
      h("div.title",
        h("div", crumbs(["Servers", "/ui/"], "server"), h("h1", said(name)), h("p.tags", serverState(one), h("span.dim", upSince(one, starts.records)))),
        h("div.acts", actions(one))),
      question(one),
      failure ? failed(failure) : null,
      why(one),
      strip([
        ["Tools", one.tools ? `${number(one.tools)}, ${one.held ? `${one.held} held` : "none held"}` : "none known"],
        ["Calls, 24 h", `${number(rows.length)}${calls.next === null ? "" : " or more"}, ${number(bad)} failed`],
        ["Median / p95", times.length ? `${took(percentile(times, 0.5))} / ${took(percentile(times, 0.95))}` : "–"],
        ["In flight", `${number(details.in_flight)} of ${details.entry?.max_concurrent_requests ?? "no limit"}`],
        ["Starts, 24 h", `${number(began)}, ${number(ends)} failed`],
        ["Memory", details.memory_bytes === undefined ? undefined : bytes(details.memory_bytes)],
        ["Instances", one.instances],
        ["Clients", clients.length ? said(some(clients, 4)) : "none"],
      ]),
      h("div.cols.even",
        h("section", { "aria-label": "Starts" }, section("Starts", h("p", "last 24 hours, the newest first"), startTable(starts.records))),
        h("section", { "aria-label": "Log", id: "log" }, log.render())),
      toolSection(),
      configuration(one),
    ];
  }

  function why(one) {
    if (!one.enabled || (!one.last_error && !one.held && !one.quarantined && !one.detail)) return null;
    const kind = one.state === "Error" ? "err" : one.state === "Authenticating" ? "warn" : one.held || one.quarantined ? "held" : "plain";
    return note(kind, reason(one));
  }

  function startTable(records) {
    const word = { ready: ["ready", "Ready"], asleep: ["off", "Slept"], failed: ["err", "Failed"], held: ["held", "Held"], ended: ["err", "Ended"] };
    const shown = records.slice(0, FEW.starts);
    if (!shown.length) return h("div.empty", h("b", "Nothing in the last 24 hours."), "It is started by the first call that needs it.");
    const line = (record) => {
      const [kind, text] = word[record.action] ?? [record.outcome === "failed" ? "err" : "off", record.action ?? record.kind];
      return row(`s${record.id}`, [cell("nowrap", at(record.time)), cell("grow", state(kind, said(text))), cell("full", capital(record.error ?? record.detail ?? ""))]);
    };
    return [
      table("fold", [["Time"], ["What"], ["Why"]], [shown.map(line)]),
      records.length > shown.length ? h("p.hint", h("a", { href: `/ui/activity?kind=server&server=${part(name)}&since=24h` }, `All ${records.length}`)) : null,
    ];
  }

  function toolSection() {
    const called = new Map();
    for (const record of rowsOf(calls.records)) {
      if (!record.tool) continue;
      const known = called.get(record.tool) ?? [];
      called.set(record.tool, [...known, record.duration_us ?? 0]);
    }
    const own = (tool) => tool.name.slice(name.length + 1);
    const sorted = [...tools.tools].sort((a, b) => (called.get(own(b))?.length ?? 0) - (called.get(own(a))?.length ?? 0));
    const shown = isAll ? sorted : sorted.slice(0, FEW.tools);
    if (!sorted.length) return section("Tools", null, h("div.empty", h("b", "No tool is known."), "Its tools are listed when it connects."));
    const line = (tool) => row(tool.name, [
      head("grow mono", h("a", { href: `/ui/tools/${part(tool.name)}` }, said(own(tool)))),
      cell("", variant(tool.call_with), tool.callable ? null : [" ", state("held", "held", { title: tool.reason ?? "" })]),
      cell("full soft", said(tool.description.split("\n")[0])),
      labelled("r", "calls", number(called.get(own(tool))?.length ?? 0)),
      labelled("r dim", "median", called.has(own(tool)) ? took(percentile(called.get(own(tool)), 0.5)) : "–"),
    ]);
    const all = button(isAll ? "Show fewer" : "Show all", () => { isAll = !isAll; frame.paint(); }, "end link small");
    const aside = [h("p", shown.length < sorted.length ? `${shown.length} of ${sorted.length} shown, most called first` : count(sorted.length, "tool")), sorted.length > FEW.tools ? all : null];
    return section("Tools", aside, table("fold", [["Tool"], ["Class"], ["Description"], ["Calls, 24 h", "r"], ["Median", "r"]], [shown.map(line)]));
  }

  function configuration(one) {
    const { entry } = details;
    if (!entry) return section("Configuration", null, h("div.empty", h("b", "The entry cannot be used."), capital(one.next_step ?? "")));
    const { name: _, ...shown } = entry;
    const removing = asked === "remove"
      ? confirm(`Remove ${name}?`, `Its entry leaves the file; its ${count(one.tools ?? 0, "tool")} are gone for agents at once. Its log goes, too.`, `Remove ${name}`, removeIt, () => { asked = null; frame.paint(); })
      : h("p.acts", button("Remove", () => { asked = "remove"; frame.paint(); }, "btn danger"));
    return section("Configuration", [h("p", "with defaults; secrets are masked"), h("a.end.small", { href: `/ui/servers/${part(name)}/edit` }, "Edit")],
      h("div.cols.even",
        json(shown, "Entry"),
        h("div", facts([
          ["Transport", said(one.transport)],
          ["Started", entry.start === "eager" ? "with the daemon" : "by the first call that needs it"],
          ["Sleeps", entry.idle_timeout === "never" ? "never" : entry.idle_timeout === "adaptive" ? "when it is not used, after 1 to 5 min" : ["after ", said(entry.idle_timeout)]],
          ["Shared by", one.instances === undefined ? "all clients" : count(one.instances, "instance runs", "instances run")],
          ["May connect for", said(entry.init_timeout)],
          ["Call limit", [said(entry.call_tool_timeout), " of silence"]],
          ["Changed tools", entry.tool_changes === "allow" ? "taken as they come" : "held until approved"],
          ["Log file", details.log_file ? h("code", said(details.log_file)) : undefined],
        ]), h("div.sec", removing))));
  }

  /** Removes it. From then on nothing of it is asked for: what the daemon would answer is that there is no such server. */
  async function removeIt() {
    if (doing) return;
    [doing, failure, asked, isEnding] = ["Removing…", null, null, true];
    frame.paint();
    await reading.catch(() => {});
    log.leave();
    try {
      await take(path);
    } catch (error) {
      [doing, failure, isEnding] = [null, error, false];
      frame.paint();
      return;
    }
    frame.visit("/ui/");
  }

  return { title: name, tab: "servers", waiting: `Reading what is known of ${name}…`, load, refresh: () => (doing ? undefined : load()), render, leave: log.leave, painted: () => isEnding || log.painted() };
}

/** How long it has been as it is, as far as the log knows. */
function upSince(one, records) {
  const [last] = records;
  if (!one.enabled || one.state !== "Ready" || last?.action !== "ready") return "";
  return `up ${span((Date.now() - Date.parse(last.time)) / 1000)}`;
}
