// Every server at a glance: its state, the reason and the next step; what needs a person first.

import { Failure, ask, part, post, query as to } from "./api.js";
import { h, icon } from "./dom.js";
import { feed } from "./feed.js";
import { firstRun } from "./first_run.js";
import { firstSteps } from "./first_steps.js";
import { lacks } from "./fix.js";
import { live } from "./live.js";
import { acting, cell, facts, failed, go, button, hasFailed, head, labelled, needsYou, row, segments, serverState, spark, state, stepWords, table } from "./parts.js";
import { Calls, counted, figures } from "./records.js";
import { mending, warned } from "./settings.js";
import { several } from "./several.js";
import { ago, capital, count, number, said, sentence, some, took } from "./words.js";

/** Above so many servers there is a field to look for one. */
const MANY = 15;

/** Calls that the feed shows. */
const FEED = 10;

/** Which servers are shown. */
const WORDS = { all: "All", you: "Need you", ready: "Ready", starting: "Starting", asleep: "Asleep", disabled: "Disabled" };

export function overview(query, frame) {
  const calls = new Calls();
  const start = firstRun(frame, calls);
  const steps = firstSteps();
  const many = several(frame);
  const sum = async () => { hour = await figures("1h"); };
  const it = acting(frame);
  const mend = mending(it, () => load());
  let hour = null;
  let file = null;
  let rows = [];
  let order = new Map();
  let which = query.get("state") ?? "all";
  let wanted = query.get("name") ?? "";

  /** Its warnings are of now, too: what was just added may have ended one. */
  async function warnings() {
    live.status = await ask("status");
    if (live.status.warnings.length && !live.status.config_error) file = await ask("config").catch(() => null);
  }

  const load = () => Promise.all([warnings(), refresh(true)]);

  /** Rows keep their places until the page is opened anew; new ones come last. */
  function place() {
    const unplaced = rows.filter((one) => !order.has(one.name)).sort((a, b) => needsYou(b) - needsYou(a) || a.name.localeCompare(b.name));
    for (const one of unplaced) order.set(one.name, { rank: order.size, needs: needsYou(one) });
  }

  async function refresh(isAnew = false) {
    const [answer] = await Promise.all([ask("servers"), calls.refresh(), sum()]);
    rows = answer.servers;
    if (isAnew) order = new Map();
    place();
    await Promise.all([start.load(rows), steps.load(rows)]);
  }

  /** Rows keep their places, so that none moves under a pointer; those that need somebody by now come first once that is asked for. */
  const needed = (one) => order.get(one.name).needs;
  const placeAnew = () => { order = new Map(); place(); frame.paint(); };

  function navigate(now) {
    which = now.get("state") ?? "all";
    wanted = now.get("name") ?? "";
    const field = document.getElementById("o-name");
    if (field && field.value !== wanted) field.value = wanted;
  }

  const address = (key, name) => to("/ui/", { state: key === "all" ? "" : key, name });

  /** The first letter is a step that *Back* undoes; the others are of the same. */
  const narrow = (name) => frame.visit(address(which, name), { replace: wanted !== "" && name !== "" });

  const matches = {
    all: () => true,
    you: needsYou,
    ready: (one) => one.enabled && !one.quarantined && one.state === "Ready",
    starting: (one) => one.state === "Connecting" && one.enabled && !one.quarantined,
    asleep: (one) => one.enabled && !one.quarantined && one.state === "Disconnected",
    disabled: (one) => !one.enabled,
  };

  function filters() {
    const href = (key) => address(key, wanted);
    const items = Object.entries(WORDS)
      .map(([key, word]) => ({ word, key, n: rows.filter(matches[key]).length, href: href(key), current: which === key }))
      .filter(({ key, n }) => !["starting", "disabled"].includes(key) || n > 0 || which === key);
    const bar = segments("Which servers", items);
    if (rows.length > MANY) {
      const input = h("input.filter", {
        type: "search", id: "o-name", placeholder: `Filter ${rows.length} servers by name`, "aria-label": "Filter servers by name", value: wanted,
        on: { input: (event) => narrow(event.target.value) },
      });
      bar.append(h("label", input));
    }
    return bar;
  }

  function render() {
    if (rows.length === 0) return start.render();
    const you = rows.filter(needsYou).length;
    const [starting, ready] = ["starting", "ready"].map((key) => rows.filter(matches[key]).length);
    const test = matches[which] ?? matches.all;
    const shown = rows.filter((one) => test(one) && one.name.toLowerCase().includes(wanted.toLowerCase()));
    shown.sort((a, b) => needed(b) - needed(a) || order.get(a.name).rank - order.get(b.name).rank);
    const sums = new Map(hour.servers.map((one) => [one.server, one]));
    const offered = live.status?.callable_tools ?? live.status?.tools ?? 0;
    return [
      h(
        "div.title",
        h(
          "div",
          h("h1", `${count(rows.length, "server")}, ${live.lost ? "state unknown" : you ? `${you === 1 ? "1 needs" : `${you} need`} you` : starting ? `${ready ? `${number(ready)} ready, ` : ""}${number(starting)} starting` : "none needs you"}`),
          h("p.sub", `${count(offered, "tool is", "tools are")} offered to agents`, live.status?.url ? [" at ", h("code", live.status.url)] : " through the local socket", "."),
        ),
        h("div.acts", rows.length > 1 ? many.toggle() : null, go("Import", "/ui/add#import"), h("a.btn.primary", { href: "/ui/add" }, icon("plus"), "Add server")),
      ),
      steps.render(rows),
      it.failure ? failed(it.failure) : null,
      (live.status?.config_error ? [] : live.status?.warnings ?? []).slice(0, 1).map((warning) => warned(warning, file, mend, go("Settings", "/ui/settings", "btn small"))),
      h("div.cols", h("section", { "aria-labelledby": "servers-h" }, h("h2.sr", { id: "servers-h" }, "Servers"), filters(), many.bar(shown), list(shown, sums)), rail(hour.all)),
      // The demo is no server of one's own: the way to the first call goes on.
      rows.every((one) => one.demo) ? start.steps() : null,
    ];
  }

  function list(shown, stats) {
    if (!shown.length) return h("div.empty", h("b", wanted ? `No server has “${wanted}” in its name.` : which === "you" ? "No server needs you." : `No server is ${WORDS[which].toLowerCase()}.`), h("p.acts", go("All servers", "/ui/")));
    const groups = [["Need you", true], ["Others", false]].map(([title, needs]) => {
      const these = shown.filter((one) => needed(one) === needs);
      if (!these.length) return null;
      const late = needs ? 0 : these.filter(needsYou).length;
      const heading = h("tr.group", { role: "row", "data-key": `group ${title}` }, h("th", { role: "cell", scope: "colgroup", colspan: "7" },
        late ? [`Others; ${late === 1 ? "1 needs" : `${number(late)} need`} you now. `, button("Show them first", placeAnew, "link")] : title));
      return [heading, these.map((one) => serverRow(one, stats.get(one.name)))];
    });
    const columns = [["Server"], ["State"], ["Reason and next step"], ["Action", "", true], ["Tools", "r"], ["Calls, last hour", "r"], ["Last call", "r"]];
    return table("fold", columns, groups.filter(Boolean));
  }

  function serverRow(one, stats) {
    const n = stats?.calls ?? 0;
    const act = action(one);
    const never = !stats?.last;
    return row(one.name, [
      head("grow", many.box(one), h("a.go", { href: `/ui/servers/${part(one.name)}` }, said(one.name)), " ", h("span.sub", one.transport ?? "")),
      cell("is", serverState(one)),
      cell("full", reason(one) ?? h("span.dim", calm(one, stats))),
      cell(act ? "act full" : "act", act),
      one.tools === undefined || (one.tools === 0 && one.state !== "Ready") ? cell("r hide", "–") : labelled("r", "tools", number(one.tools)),
      cell("r nowrap hide", n ? spark(stats.stretches) : null, " ", h(n ? "span.num" : "span.num.dim", number(n))),
      labelled(never ? "r dim hide" : "r dim", "last call", never ? "–" : ago(stats.last)),
    ]);
  }

  function action(one) {
    const small = "btn small";
    const name = part(one.name);
    if (!one.enabled) return button("Enable", () => act(one.name, "enable"), small, { "aria-label": `Enable ${one.name}` });
    if (one.quarantined) return go("Review", `/ui/review/${name}`, small);
    if (one.state === "Authenticating") return go("Log in", `/ui/servers/${name}/login`, small);
    const missing = lacks(one);
    if (missing) return go(["Enter ", said(missing)], `/ui/servers/${name}#fix-value`, small);
    // Its page has a field for what can be wrong of a command or a URL; anything else is in the whole entry.
    const correct = one.step?.do === "fix_entry" || one.transport === "stdio" ? go("Correct it", `/ui/servers/${name}#fix-value`, small) : go("Edit", `/ui/servers/${name}/edit`, small);
    if (hasFailed(one) && one.step?.do === "read_log" && one.transport === "stdio") return [go("Open log", `/ui/servers/${name}#log`, small), " ", correct];
    if (hasFailed(one) && one.transport && !one.unusable) return [button("Try again", () => act(one.name, "restart"), small), " ", correct];
    if (hasFailed(one)) return one.transport ? correct : go("Edit", `/ui/servers/${name}/edit`, small);
    if (one.held) return go("Review", `/ui/review/${name}`, small);
    if (needsYou(one)) return go("Open", `/ui/servers/${name}`, small);
    return null;
  }

  async function act(name, verb) {
    await post(`servers/${part(name)}/${verb}`, undefined, { patience: 90_000 }).catch((failure) => {
      if (!(failure instanceof Failure)) throw failure;
      // What came of it stands in its row.
    });
    frame.soon();
  }

  function rail({ calls: n, failed: bad, refused, median_us: median, clients }) {
    const share = n ? `, ${((100 * bad) / n).toFixed(1)} %` : "";
    const newest = calls.rows().slice(0, FEED);
    return h(
      "aside.rail",
      h("section.sec", { "aria-labelledby": "hour-h" }, h("header", h("h2", { id: "hour-h" }, "Last hour"), h("a.end.small", { href: "/ui/usage" }, "Usage")), facts([
        ["Calls", counted(n, hour)],
        ["Failed", bad ? [h("a", { href: "/ui/activity?outcome=bad" }, number(bad)), share] : "0"],
        ["Refused", refused ? [h("a", { href: "/ui/activity?outcome=refused" }, number(refused)), refused === 1 ? " call" : " calls"] : "0"],
        ["Median", took(median)],
        ["Running calls", live.status?.in_flight ? number(live.status.in_flight) : undefined],
        ["Clients", clients.length ? said(some(clients, 5)) : "none"],
      ])),
      h("section.sec", { "aria-labelledby": "feed-h" }, h("header", h("h2", { id: "feed-h" }, "Activity"), h("a.end.small", { href: "/ui/activity" }, "All")),
        newest.length ? feed(newest) : h("p.dim", "No calls yet. New calls appear here live.")),
    );
  }

  return { title: "Servers", tab: "servers", filters: ["state", "name"], waiting: "Reading the servers…", load, refresh: () => refresh(), navigate, render };
}

/** Why a server is as it is, and what to do. `held` says what of it is held. */
export function reason(one, held = state("held", `${number(one.held ?? 0)} held`), names = null) {
  const next = (text) => h("div.sub", "Next: ", text);
  if (!one.enabled) return h("span.dim", "Disabled; its tools are hidden");
  if (one.quarantined) {
    return one.last_error ? [capital(one.last_error), next("correct it, then review it")] : ["Agents cannot see its tools", next("review it")];
  }
  if (one.state === "Authenticating") return [capital(one.last_error ?? "Needs a login"), next("log in; your browser opens its page")];
  const missing = lacks(one);
  if (missing) return [capital(one.last_error), next(["enter ", h("code", said(missing))])];
  if (one.last_error) return [capital(one.last_error), one.next_step ? next(sentence(stepWords(one))) : null];
  if (one.held) {
    const working = Math.max(0, (one.tools ?? 0) - (one.held_tools ?? 0));
    return [held, ` until you approve ${one.held === 1 ? "it" : "them"}`, names, next(`review ${one.held === 1 ? "it" : "them"}${working ? `; agents can use ${count(working, "other tool")}` : ""}`)];
  }
  if (one.left_out) return ["mcpproxy cannot use some of its definitions", one.next_step ? next(sentence(stepWords(one))) : null];
  if (one.detail) return h("div.one", { title: one.last_output }, capital(one.detail), one.last_output ? h("span.dim", ": ", said(one.last_output)) : null);
  if (one.state === "Disconnected") return h("span.dim", `Asleep until the next call${one.last_start_us === undefined ? "" : `; the last start took ${took(one.last_start_us)}`}`);
  return null;
}

/** What there is to say of one that is well. */
function calm(one, stats) {
  if (one.state === "Connecting") return `${one.transport === "stdio" ? "Starting" : "Connecting"}; no answer yet`;
  const runs = one.instances ? count(one.instances, "instance runs", "instances run") : one.transport === "stdio" ? "Running" : "Connected";
  return `${runs}; ${stats?.calls ? `calls take ${took(stats.median_us)} (median)` : "no calls in the last hour"}`;
}
