// One server: its state, what was called, its starts, its log as it grows, its tools and its entry.

import { ask, part, post, query, remove as take } from "./api.js";
import { h } from "./dom.js";
import { asWritten } from "./entry.js";
import { absent, complaint, fixForm } from "./fix.js";
import { live } from "./live.js";
import { logView } from "./log.js";
import { reason } from "./overview.js";
import { acting, button, cell, confirm, copying, crumbs, facts, failed, go, hasFailed, head, json, labelled, noServer, note, row, section, serverState, state, strip, table, toast, variant } from "./parts.js";
import { PAGE, counted, figures } from "./records.js";
import { startsSection } from "./starts.js";
import { globOf, offerTools } from "./tool_switch.js";
import { trust } from "./trust.js";
import { variables } from "./variables.js";
import { knowVault } from "./vault.js";
import { beginning, bytes, count, number, said, some, span, spelt, took } from "./words.js";

/** Limit: tools that are named of those that are held. */
const NAMED = 3;

/** Tools that are shown at first. */
const FEW = 8;

/** Limit: characters of a description in a row; the page of the tool has all of it. */
const DESCRIBED = 400;

/** Limit: changes by people, and starts and ends of the daemon, that are read of the last day. */
const OTHERS = 200;

/** Milliseconds that a restart may take. */
const RESTART = 120_000;

export function server(name, frame, first) {
  const path = `servers/${part(name)}`;
  const log = logView(name, first.get("log") ?? "", (level) => frame.visit(query(`/ui/servers/${part(name)}`, { log: level })), () => details);
  let details, tools, calls, starts, others;
  /** What it says that it lacks. */
  let said_ = null;
  let wrong = null;
  let isAll = false;
  let asked = null;
  const it = acting(frame, () => load().catch((error) => { it.failure ??= error; }));
  const vars = variables(name, frame, (word, doIt) => act(word, doIt));
  let reading = Promise.resolve();
  let isEnding = false;

  const load = () => (reading = read());

  async function read() {
    let changes, daemon;
    [details, tools, calls, starts, changes, daemon] = await Promise.all([
      ask(path),
      ask(query("tools", { server: name })),
      figures("24h", { server: name }),
      ask(query("activity", { server: name, kind: "server", since: "24h", limit: PAGE })),
      ask(query("activity", { server: name, kind: "change", since: "24h", limit: OTHERS })),
      ask(query("activity", { kind: "daemon", since: "24h", limit: OTHERS })),
    ]);
    others = [...changes.records, ...daemon.records];
    const { server: one, entry } = details;
    [said_, wrong] = hasFailed(one) && one.transport === "stdio" && !one.unusable ? await Promise.all([complaint(name, entry), absent(entry)]) : [null, null];
    await Promise.all([log.load(), details.entry ? knowVault() : null]);
  }

  /** Does something, says so meanwhile, and shows what came of it. */
  function act(word, doIt, undo) {
    asked = null;
    return it.act(word, async () => {
      await doIt();
      if (undo) toast(undo.text, undo.act);
    });
  }

  const verb = (verb) => post(`${path}/${verb}`, undefined, { patience: RESTART });
  const enable = () => act("Enabling…", () => verb("enable"), { text: `Enabled ${name}`, act: disable });
  const disable = () => act("Disabling…", () => verb("disable"), { text: `Disabled ${name}`, act: enable });

  /** The daemon knows whether there was a login to forget. */
  const logOut = () => act("Logging out…", async () => {
    const { changed } = await verb("logout");
    toast(changed.length ? `Logged out of ${name}: its login tokens were deleted` : `You were not logged in to ${name}, so nothing was changed`);
  });

  function actions(one, fix) {
    // A form says for itself what is under way.
    if (it.doing) return fix ? [] : [h("span.wait", { role: "status" }, it.doing)];
    if (!one.transport || (one.unusable && !one.quarantined && !details.entry)) return details.entry ? [go("Edit", `/ui/servers/${part(name)}/edit`)] : [];
    // It has no entry that could be changed.
    if (one.demo) return [button("Restart", () => act("Restarting…", () => verb("restart")))];
    const usable = one.enabled && !one.quarantined && !one.unusable;
    const remote = one.transport !== "stdio";
    const again = remote && hasFailed(one) ? ["Try again", "Connecting…"] : ["Restart", "Restarting…"];
    return [
      one.quarantined ? go("Review", `/ui/review/${part(name)}`, "btn primary") : null,
      !one.quarantined && one.held ? go("Review", `/ui/review/${part(name)}`, "btn primary") : null,
      usable ? button(again[0], () => act(again[1], () => verb("restart"))) : null,
      one.enabled ? button("Disable", disable) : button("Enable", enable),
      one.quarantined ? null : button("Quarantine", () => { asked = "quarantine"; frame.paint(); }),
      details.logged_in ? button("Log out", logOut) : null,
      go("Edit", `/ui/servers/${part(name)}/edit`),
    ];
  }

  function question(one) {
    const keep = () => { asked = null; frame.paint(); };
    if (asked === "quarantine") {
      const what = `Agents cannot see or call its ${count(one.tools ?? 0, "tool")} until you approve it.`;
      return confirm(`Quarantine ${name}?`, what, `Quarantine ${name}`, () => act("Quarantining…", () => verb("quarantine")), keep);
    }
    return null;
  }

  function render() {
    const one = details.server;
    const of = (action) => starts.records.filter((record) => record.action === action);
    const lost = of("lost").length;
    const ends = of("failed").reduce((sum, record) => sum + (record.times ?? 1), 0) + (details.unrecorded_failures ?? 0);
    const began = of("ready").length;
    const { all } = calls;
    const clients = all.clients.length ? all.clients : all.callers;
    const fix = fixForm(name, details, { said_, absent: wrong }, act, { doing: it.doing, restart: () => verb("restart"), begun: () => ask(query(path, { wait: RESTART / 1000 }), { patience: RESTART + 10_000 }) });
    // Where one is missing, the variables stand before what came of that.
    const settings = one.demo || !details.entry ? null : vars.render(details.entry, said_ ? [said_.name] : [], details.missing ?? []);
    return [
      h("div.title",
        h("div", crumbs(["Servers", "/ui/"], "server"), h("h1", said(name)), h("p.tags", serverState(one), h("span.dim", upSince(one, starts.records) || (fix ? tries(one) : "")))),
        h("div.acts", actions(one, fix))),
      question(one),
      it.failure ? failed(it.failure) : null,
      fix,
      why(one, fix !== null),
      one.demo ? note("plain", ["This is the bundled demo server. It has no entry in the configuration file, so you cannot edit, disable or quarantine it. ", endOf[one.demo]]) : null,
      strip([
        ["Tools", one.tools ? `${number(one.tools)}, ${one.quarantined ? "hidden until you approve the server" : one.held_tools ? `${one.held_tools} held` : "none held"}` : "none known"],
        ["Calls, 24 h", `${counted(all.calls, calls)}, ${number(all.failed)} failed${all.refused ? `, ${number(all.refused)} refused` : ""}`],
        ["Median / p95", all.median_us === undefined ? "–" : `${took(all.median_us)} / ${took(all.p95_us)}`],
        ["Running calls", `${number(details.in_flight)}${details.entry?.max_concurrent_requests ? ` of at most ${number(details.entry.max_concurrent_requests)}` : ""}`],
        ["Starts, 24 h", `${number(began)}${starts.next === null ? "" : " or more"}, ${number(ends)} failed`],
        ["Connections lost, 24 h", lost ? `${number(lost)}${starts.next === null ? "" : " or more"}` : undefined],
        ["Memory", details.memory_bytes === undefined ? undefined : bytes(details.memory_bytes)],
        ["Instances", one.instances],
        ["Clients", clients.length ? said(some(clients, 4)) : "none"],
      ]),
      said_ || details.missing?.length ? settings : null,
      h("div.cols.even",
        h("div", startsSection({ name, records: starts.records, others, isReady: one.enabled && one.state === "Ready", waitsFor: waitsFor(), unrecorded: details.unrecorded_failures ?? 0 })),
        h("div", { id: "log" }, log.render())),
      toolSection(),
      said_ || details.missing?.length ? null : settings,
      one.demo || !details.entry ? null : trust(name, details.entry, (word, doIt) => act(word, doIt)),
      configuration(one),
    ];
  }

  /** Not where a form says so, with the field that ends it. */
  function why(one, isField) {
    if (!one.enabled || isField || (!one.last_error && !one.held && !one.quarantined && !one.detail)) return null;
    const kind = hasFailed(one) ? "err" : one.state === "Authenticating" ? "warn" : one.held || one.quarantined ? "held" : "plain";
    const names = tools.tools.filter((tool) => ["tool_held", "tool_changed"].includes(tool.code)).map((tool) => h("code", said(tool.name.slice(name.length + 1))));
    const named = [names.length ? ": " : null, names.slice(0, NAMED).flatMap((one, i) => [i ? ", " : null, one]), names.length > NAMED ? ", …" : null];
    const act = one.state === "Authenticating" && !one.quarantined ? go("Log in", `/ui/servers/${part(name)}/login`, "btn primary") : hasFailed(one) && one.step && !one.unusable ? button("Try again", () => act("Starting it…", () => verb("restart")), "btn small") : null;
    return note(kind, reason(one, h("b", `${number(one.held ?? 0)} held`), named), act);
  }

  /** What has to happen before it is started. */
  function waitsFor() {
    const one = details.server;
    if (!one.enabled) return `The server can start once you ${one.unusable ? "correct and " : ""}enable it.`;
    if (one.quarantined) return "The server can start once you approve it.";
    if (details.missing?.length > 1) return "The server can start once you have entered all missing values.";
    if (details.missing?.length) return `The server can start once you have entered its ${details.missing[0].kind}.`;
    if (one.unusable) return "The server can start once you have corrected its entry.";
    return details.entry?.start === "eager" ? "The server starts with the daemon." : "The next call starts the server.";
  }

  /** A switch: whether agents get a tool. One that a pattern or a list keeps out is changed in the entry. */
  function offered(own, tool) {
    if (details.server.demo || !details.entry || ["server_disabled", "server_quarantined"].includes(tool.code)) return null;
    const isByName = (details.entry.disabled_tools ?? []).includes(globOf(own));
    if (["tool_held", "tool_changed"].includes(tool.code)) return h("a.small", { href: `/ui/review/${part(name)}` }, "after approval");
    if (tool.code === "tool_disabled" && !isByName) return h("a.small", { href: `/ui/servers/${part(name)}/edit` }, "hidden by the entry");
    const offer = (isOffered) => act(isOffered ? "Offering it…" : "Hiding it…", () => offerTools(new Map([[name, [own]]]), isOffered), { text: isOffered ? `No longer hidden: ${own}` : `Hidden from agents: ${own}`, act: () => offer(!isOffered) });
    return h("label.sw", h("input", { type: "checkbox", role: "switch", checked: !isByName, disabled: Boolean(it.doing), "aria-label": `Offer ${own} to agents`, "data-key": `offer ${own} ${isByName}`, on: { change: (event) => offer(event.target.checked) } }));
  }

  function toolSection() {
    const called = new Map(calls.tools.map((one) => [one.tool, one]));
    const own = (tool) => tool.name.slice(name.length + 1);
    const sorted = [...tools.tools].sort((a, b) => (called.get(own(b))?.calls ?? 0) - (called.get(own(a))?.calls ?? 0));
    const shown = isAll ? sorted : sorted.slice(0, FEW);
    if (!sorted.length) return section("Tools", null, h("div.empty", h("b", "No tools yet."), "The tools appear here when the server connects."));
    const counts = ({ calls: all, refused } = { calls: 0 }) => [number(all - (refused ?? 0)), refused ? h("span.dim", `, ${number(refused)} refused`) : null];
    const line = (tool) => row(tool.name, [
      head("grow mono", h("a", { href: `/ui/tools/${part(tool.name)}` }, said(own(tool)))),
      cell("", variant(tool.call_with), tool.callable ? null : [" ", uncallable(tool)]),
      cell("full soft", said(beginning(tool.description.split("\n")[0], DESCRIBED))),
      labelled("r", "calls", counts(called.get(own(tool)))),
      labelled("r dim", "median", took(called.get(own(tool))?.median_us)),
      cell("act", offered(own(tool), tool)),
    ]);
    const of = (codes) => sorted.filter((tool) => codes.includes(tool.code)).length;
    const parts = [[sorted.filter((tool) => tool.callable).length, "offered"], [of(["tool_disabled"]), "hidden"], [of(["tool_held", "tool_changed"]), "held"]].filter(([n]) => n).map(([n, word]) => `${number(n)} ${word}`).join(", ");
    const several = parts && sorted.length > 1 && details.entry && !details.server.demo ? h("a.end.small", { href: query("/ui/tools", { server: name }) }, "Choose several") : null;
    const all = button(isAll ? "Show fewer" : "Show all", () => { isAll = !isAll; frame.paint(); }, several ? "link small" : "end link small");
    const aside = [h("p", parts, shown.length < sorted.length ? `${parts && "; "}${shown.length} of ${sorted.length} shown, those with the most calls first` : ""), several, sorted.length > FEW ? all : null];
    const listed = new Set(sorted.map(own));
    const unlisted = calls.tools.filter((one) => !listed.has(one.tool)).map((one) => `${one.tool} (${count(one.calls, "call")})`);
    return section("Tools", aside, table("fold", [["Tool"], ["Type"], ["Description"], ["Calls, 24 h", "r"], ["Median", "r"], ["For agents"]], [shown.map(line)]),
      unlisted.length ? h("p.hint", "Calls to tools that the server does not list, or whose names are masked: ", said(some(unlisted, FEW)), ".") : null);
  }

  function configuration(one) {
    const { entry } = details;
    if (!entry) return section("Configuration", null, h("div.empty", h("b", "The entry cannot be used."), "Correct it in ", h("code", said(live.status?.config_file ?? "the configuration file")), "."));
    const removing = asked === "remove"
      ? confirm(`Remove ${name}?`, `Deletes ${one.demo ? "" : "its entry, its login and "}its log. Agents can no longer use its ${count(one.tools ?? 0, "tool")}.`, `Remove ${name}`, removeIt, () => { asked = null; frame.paint(); })
      : one.demo === "command_line" ? null : h("p.acts", button("Remove", () => { asked = "remove"; frame.paint(); }, "btn danger"));
    return section("Configuration", [h("p", one.demo ? "the demo has no entry in the configuration file" : `${details.line ? `line ${number(details.line)} of the configuration file; ` : ""}without defaults, secrets masked`), one.demo ? null : h("a.end.small", { href: `/ui/servers/${part(name)}/edit` }, "Edit")],
      h("div.cols.even",
        json(asWritten(entry), "Entry"),
        h("div", one.unusable ? null : facts([
          ["Transport", said(one.transport)],
          ["Own address", live.status?.url ? [h("code", `${live.status.url}/server/${part(name)}`), " ", copying("copy", `${live.status.url}/server/${part(name)}`, "link small")] : undefined],
          ["Started", entry.start === "eager" ? "with the daemon" : "when it is needed"],
          ["Sleeps", sleeps(entry)],
          ["Shared by", one.instances === undefined ? "all clients" : `not all clients; ${count(one.instances, "instance runs", "instances run")}`],
          ["Connection timeout", said(spelt(entry.init_timeout))],
          ["Call timeout", [said(spelt(entry.call_tool_timeout)), " without progress"]],
          ["Changed tools", entry.tool_changes === "allow" ? "accepted unreviewed" : "held until approved"],
          ["New tools", { hold: "held until approved", allow: "usable at once" }[entry.new_tools] ?? "as for all servers"],
          ["Log file", details.log_file ? h("code", said(details.log_file)) : undefined],
        ]), h("div.sec", removing))));
  }

  const ways = (failure) => noServer(failure, (other) => `/ui/servers/${part(other)}`, go("Show its records", query("/ui/activity", { server: name, kind: "all" })));

  /** Removes it. From then on nothing of it is asked for: what the daemon would answer is that there is no such server. */
  async function removeIt() {
    if (isEnding) return;
    [it.doing, it.failure, asked, isEnding] = ["Removing…", null, null, true];
    frame.paint();
    await reading.catch(() => {});
    log.leave();
    try {
      await take(path);
    } catch (error) {
      [it.doing, it.failure, isEnding] = [null, error, false];
      frame.paint();
      return;
    }
    frame.visit("/ui/");
  }

  return { title: name, tab: "servers", filters: ["log"], waiting: `Reading ${name}…`, load, refresh: () => (it.doing ? undefined : load()), render, leave: log.leave, ways, navigate: (now) => log.from(now.get("log") ?? ""), painted: () => isEnding || log.painted() };
}

/** When it is put to sleep. */
function sleeps({ start, idle_timeout: after, min_idle_timeout: least, max_idle_timeout: most }) {
  if (start === "eager" || after === "never") return "never";
  const bounds = [least && `at least ${spelt(least)}`, most && `at most ${spelt(most)}`].filter(Boolean).join(" and ");
  return said(`after ${after === "adaptive" ? bounds || "1 to 5 min" : spelt(after)} without use`);
}

/** Why agents cannot call a tool, in a word. */
function uncallable({ code, reason }) {
  const about = { title: reason ?? "" };
  if (["tool_held", "tool_changed", "server_quarantined"].includes(code)) return state("held", code === "server_quarantined" ? "quarantined" : "held", about);
  if (code === "tool_disabled") return state("dis", "hidden", about);
  return code === "server_disabled" ? state("dis", "disabled", about) : state("off", "not offered", about);
}

/** What ends the demo server, by how it was started. */
const endOf = {
  command_line: [h("code", "mcpproxy serve --demo"), " added it. The demo ends with the daemon."],
  request: "It was started on this page or over REST. The demo ends with the daemon or when you remove it.",
};

/** How often it was tried, and when it is again: what the daemon adds to the reason. */
const tries = ({ last_error: error = "", reason: why = "", next_attempt_in_seconds: wait }) => (why && error?.startsWith(`${why}; `) ? `${error.slice(why.length + 2)}${wait ? `, next in ${span(wait)}` : ""}` : "");

/** How long it has been as it is, as far as the log knows. */
function upSince(one, records) {
  const [last] = records;
  if (!one.enabled || one.state !== "Ready" || last?.action !== "ready") return "";
  return `up ${span((Date.now() - Date.parse(last.time)) / 1000)}`;
}
