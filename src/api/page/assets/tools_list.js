// All tools, where nothing is searched: by call type, state and use, and several at once.

import { ask, part, query } from "./api.js";
import { h } from "./dom.js";
import { live } from "./live.js";
import { acting, button, empty, failed, go, ticksOf, toast, variant } from "./parts.js";
import { offerTools } from "./tool_switch.js";
import { count, number, plain, said, sentence } from "./words.js";

/** Tools that are listed at first, and with each further step. */
const LISTED = 50;
const STEP = 200;

/** Days without a call after which a tool counts as unused. */
const DAYS = 30;

const TYPES = [["", "any type"], ["read", "read"], ["write", "write"], ["destructive", "destructive"]];
const STATES = [["", "any state"], ["offered", "offered"], ["hidden", "hidden"], ["held", "held"], ["out", "server disabled or quarantined"]];

/** In which of the states a tool is. */
function stateOf(tool) {
  if (tool.callable) return "offered";
  if (tool.code === "tool_disabled") return "hidden";
  return ["tool_held", "tool_changed"].includes(tool.code) ? "held" : "out";
}

/** A tool's name as a heading that leads to its page. */
export function name(tool) {
  const own = tool.name.slice(tool.server.length + 1);
  return h("h3", h("a", { href: `/ui/tools/${part(tool.name)}` }, said(tool.server), h("span.dim", ":"), said(own)), " ", variant(tool.call_with));
}

/** `asked` gives the filters that stand in the address, `change` sets some of them. */
export function toolsList(frame, asked, change) {
  let tools = [], most = LISTED;
  /** How often each was called in those days, once that is known. */
  let used = null;
  const it = acting(frame);
  const picked = new Set();
  /** Those that are listed. */
  let listed = [];
  const boxes = ticksOf(frame, picked, () => listed);

  async function addUp() {
    const use = await ask(query("usage", { days: DAYS }));
    used = new Map(use.tools.map((one) => [`${one.server}:${one.tool}`, one.calls - one.refused]));
  }

  /** `every` is the list of all tools, where somebody has asked for that already. */
  async function load(every) {
    const { server, unused } = asked();
    // The log is long: only whoever asks for what is unused waits for it.
    const adding = unused || !used ? addUp() : null;
    adding?.then(unused ? undefined : frame.paint, () => {});
    const [list] = await Promise.all([every && !server ? every : ask(query("tools", { server })), unused ? adding : null]);
    tools = list.tools;
    most = LISTED;
    for (const one of picked) if (!tools.some((tool) => tool.name === one)) picked.delete(one);
  }

  function filters() {
    const choose = (label, key, options) => h("label", h("span.sr", label), h("select", { name: key, on: { change: (event) => change({ [key]: event.target.value }) } },
      options.map(([value, word]) => h("option", { value, selected: asked()[key] === value }, plain(word)))));
    return h("div.bar", { role: "group", "aria-label": "Which tools", "data-key": `which ${asked().type} ${asked().state} ${asked().unused}` },
      choose("Type", "type", TYPES), choose("State", "state", STATES),
      h("label", h("input", { type: "checkbox", name: "unused", checked: asked().unused === "true", on: { change: (event) => change({ unused: event.target.checked ? "true" : "" }) } }), ` never called in ${DAYS} days`));
  }

  function shown() {
    const { type, state, unused } = asked();
    return tools.filter((tool) => (!type || tool.call_with === type) && (!state || stateOf(tool) === state) && (!unused || !used?.has(tool.name)));
  }

  /** Hides those that are picked from agents, or offers them again: one change for all servers. */
  function offer(names, isOffered) {
    const by = new Map();
    for (const tool of tools.filter((one) => names.includes(one.name))) by.set(tool.server, [...(by.get(tool.server) ?? []), tool.name.slice(tool.server.length + 1)]);
    return it.act(isOffered ? "Enabling…" : "Disabling…", async () => {
      const undo = await offerTools(by, isOffered);
      toast(`${isOffered ? "Enabled" : "Disabled"} ${count(names.length, "tool")}`, () => it.act("Undoing…", () => undo().then(() => load())));
      picked.clear();
      await load();
    });
  }

  function several() {
    const names = [...picked];
    return h("div.bar.pick", { role: "group", "aria-label": "Several at once" },
      boxes.all(it.doing),
      it.doing ? h("span.wait", { role: "status" }, it.doing) : names.length ? [h("span", { role: "status" }, `${number(names.length)} chosen`), button("Disable", () => offer(names, false), "btn small"), button("Enable", () => offer(names, true), "btn small")] : null);
  }

  function line(tool) {
    const box = boxes.box(tool.name, { "aria-label": `Choose ${tool.name}`, disabled: Boolean(it.doing) });
    return h("li.hit", { "data-row": "", "data-key": tool.name }, h("label.n", box), h("div", name(tool), h("p.desc", said(tool.description)), tool.callable ? null : h("p.terms.bad", h("span", sentence(tool.reason)))),
      h("div", used ? h("p.score", h("span.dim", `${count(used.get(tool.name) ?? 0, "call")} in ${DAYS} d`)) : null));
  }

  /** Tools by server, each server with how often its tools were called. */
  function byServer(some) {
    const callsOf = (server) => [...used].reduce((sum, [tool, calls]) => sum + (tool.startsWith(`${server}:`) ? calls : 0), 0);
    return [...Map.groupBy(some, (tool) => tool.server)].map(([server, its]) => [
      h("p.sec", { "data-key": `of ${server}` }, h("b", said(server)), " ", h("span.small.dim", used ? `${count(callsOf(server), "call")} in ${DAYS} d` : "")),
      h("ol", { "data-rows": "", "data-key": `tools of ${server}` }, its.map(line)),
    ]);
  }

  function render() {
    if (!tools.length) return empty("No tools yet.", "The tools appear here when their servers connect.", live.status?.servers.total === 0 ? go("Add a server", "/ui/add") : go("Servers", "/ui/"));
    const rows = shown();
    const offered = rows.filter((tool) => tool.callable);
    const others = rows.filter((tool) => !tool.callable);
    const rest = others.slice(0, Math.max(0, most - offered.length));
    listed = [...offered.slice(0, most), ...rest].map((tool) => tool.name);
    const more = rows.length - most;
    const step = Math.min(more, STEP);
    return h("section", { "aria-labelledby": "all-h" },
      h("header.bar", h("h2", { id: "all-h" }, count(offered.length, "tool")), others.length ? h("span.small.dim", `${number(others.length)} more ${others.length === 1 ? "is" : "are"} hidden from agents, below.`) : null),
      filters(), several(),
      it.failure ? failed(it.failure) : null,
      rows.length ? null : empty("No tool matches these filters.", "", go("All tools", "/ui/tools")),
      byServer(offered.slice(0, most)),
      rest.length ? [h("h2.sec", `${count(others.length, "tool")} hidden from agents`), h("ol", { "data-rows": "" }, rest.map(line))] : null,
      more > 0 ? h("p.sec", button(`Show ${number(step)} more`, () => { most += STEP; frame.paint(); }), h("span.small.dim", ` ${number(most)} of ${number(rows.length)} are shown.`)) : null);
  }

  return { load, render };
}
