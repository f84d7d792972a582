// Every call, refusal and change, the newest first. What is new waits until it is asked for, unless somebody stands at the top.

import { Failure, ask, query } from "./api.js";
import { decisionsAmong } from "./decided.js";
import { h, icon } from "./dom.js";
import { noRecord, recordDrawer } from "./record_drawer.js";
import { live } from "./live.js";
import { button, cell, go, head, outcome, row, table, variant, wrong } from "./parts.js";
import { PAGE, asker, detail, isFailed, isTheirs, rowsOf, thing, thingShown } from "./records.js";
import { at, beginning, closest, count, number, plain, said, sentence, short, tokens, took } from "./words.js";

/** Records that are read at once. */
const READ = 200;

/** Limit: characters of a name that is not broken in the middle of a word. */
const WHOLE = 40;

/** Days of the log whose callers can be chosen. */
const DAYS = 30;

/** Limit: characters of a detail in a row; the record has all of it. */
const DETAIL = 160;

const OUTCOMES = [["", "any outcome"], ["bad", "failed or refused"], ["ok", "ok"], ["tool_error", "tool error"], ["failed", "failed"], ["refused", "refused"], ["invalid", "invalid"], ["withdrawn", "withdrawn"]];
const TIMES = [["", "any time"], ["1h", "last hour"], ["today", "today"], ["7d", "7 days"]];
const KINDS = [["", "calls and refusals"], ["change", "changes by you and agents"], ["decision", "approvals and quarantines"], ["server", "starts and stops of servers"], ["daemon", "starts and stops of the daemon"], ["all", "everything"]];
const MASKED = [["", "with or without secrets"], ["true", "with masked secrets"]];
const KEYS = ["text", "outcome", "server", "caller", "client", "tool", "call", "run", "kind", "since", "masked"];

/** Kinds and outcomes by their names at the daemon; those that stand here for one word of the page. Decisions are some of the changes. */
const KIND_NAMES = { "": "call,refusal,gap", all: "", decision: "change" };
const OUTCOME_NAMES = { bad: "tool_error,rpc_error,failed,invalid,refused" };

export function activity(id, first, frame) {
  let asked = {};
  let records = [];
  let next = null;
  let fresh = [];
  let open = id;
  let drawn = null;
  let servers = [];
  const callers = new Set(["anonymous", "operator"]);
  const clients = new Set();
  let isPaused = false;
  let failure = null;

  const read = (now) => { asked = Object.fromEntries(KEYS.map((key) => [key, now.get(key) ?? ""])); asked.outcome ||= now.get("result") ?? ""; };
  read(first);

  const isCall = () => /^c\d+$/.test(asked.text);

  /** What the daemon looks for, in lists and exports alike; the rest is looked for here. */
  function filter() {
    const { kind, outcome, server, caller, client, tool, call, run, text, since, masked } = asked;
    return { kind: KIND_NAMES[kind] ?? kind, outcome: OUTCOME_NAMES[outcome] ?? outcome, server, caller, client, tool, call: call || (isCall() ? text : ""), run, since, masked };
  }

  const wanted = (more) => query("activity", { ...filter(), ...more });

  /** What is exported is what the daemon looks for: where more than that is looked for here, it is said what comes. */
  function exporting() {
    const word = asked.kind === "decision" ? "Export all changes" : asked.text && !isCall() ? "Export without the text filter" : "Export";
    return h("a.btn", { href: query("/api/v1/activity/export", { ...filter(), format: "jsonl" }), download: "activity.jsonl" }, word);
  }

  function fits(record) {
    if (!asked.text || isCall()) return true;
    const text = asked.text.toLowerCase();
    return [thing(record), record.caller, record.client, record.code, record.error, record.call, record.action].some((value) => value?.toLowerCase().includes(text));
  }

  /** The first page; a filter that the daemon does not know is said beside the filters, where it can be changed. */
  async function newest() {
    failure = null;
    try {
      return await ask(wanted({ limit: READ }));
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 400) throw error;
      failure = error;
      return { records: [], next: null };
    }
  }

  async function load() {
    fresh = [];
    const [page, list] = await Promise.all([newest(), ask("servers")]);
    [records, next] = [page.records, page.next];
    servers = list.servers.map((one) => one.name);
    for (const record of records) {
      if (record.caller) callers.add(record.caller);
      if (record.client) clients.add(asker(record));
    }
    whole();
    await draw();
  }

  let isWhole = false;

  /** Whoever called as far back as the log goes, which takes a while to read: it is not waited for. */
  async function whole() {
    if (isWhole) return;
    isWhole = true;
    const [use, known] = await Promise.all([ask(query("usage", { days: DAYS })), ask("access/callers")]).catch(() => [{ callers: [] }, { subjects: [] }]);
    for (const name of [...known.subjects, ...use.callers.map((one) => one.name)]) if (name) callers.add(name);
    for (const { name } of use.clients ?? []) clients.add(name);
    frame.paint();
  }

  async function draw() {
    if (open === null) {
      drawn = null;
      return;
    }
    try {
      drawn = await recordDrawer(open, closeHref());
    } catch (error) {
      if (!(error instanceof Failure) || !error.isFinal) throw error;
      drawn = noRecord(error, closeHref());
    }
  }

  async function older() {
    const page = await ask(wanted({ limit: READ, cursor: next }));
    records = [...records, ...page.records];
    next = page.next;
    frame.paint();
  }

  async function refresh() {
    if (isPaused || failure) return;
    const last = fresh[0]?.id ?? records[0]?.id ?? 0;
    const page = await ask(wanted({ after: last, limit: PAGE }));
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

  /** Who asked: a client by what it calls itself, as the rows do, or a caller by its own name. */
  function whoAsked() {
    const group = (key, label, names) => {
      const all = [...new Set(asked[key] ? [...names, asked[key]] : names)].sort();
      return all.length ? h("optgroup", { label }, all.map((name) => h("option", { value: `${key} ${name}`, selected: asked[key] === name }, plain(name)))) : null;
    };
    const pick = ({ target: { value } }) => change({ client: "", caller: "", ...(value ? { [value.split(" ")[0]]: value.slice(value.indexOf(" ") + 1) } : {}) });
    return h("label", h("span.sr", "Caller"), h("select", { "data-key": `caller ${asked.client} ${asked.caller} ${clients.size} ${callers.size}`, on: { change: pick } },
      h("option", { value: "" }, "all callers"), group("client", "Clients", clients), group("caller", "Callers", callers)));
  }

  function filters(rows) {
    const refused = rows.filter((record) => record.outcome === "refused").length;
    // *Enter* ends a change of it before it submits the form.
    const text = h("input.filter", { type: "search", id: "a-text", placeholder: "Filter: tool, caller, code or call id", value: asked.text, on: { change: (event) => change({ text: event.target.value.trim() }) } });
    return h("form.bar.behind", { "aria-label": "Filter", on: { submit: (event) => event.preventDefault() } },
      h("label.sr", { for: "a-text" }, "Text"), text,
      h("div.choices", choice("Kind", "kind", KINDS), choice("Outcome", "outcome", OUTCOMES),
        choice("Server", "server", [["", "all servers"], ...servers.map((name) => [name, name])]),
        whoAsked(),
        choice("Time", "since", TIMES), choice("Secrets", "masked", MASKED)),
      asked.tool || asked.call ? button(`Remove the filter ${asked.tool || asked.call}`, () => change({ tool: "", call: "", run: "" }), "link") : null,
      h("span.end.dim.small", { role: "status" }, rows.length ? `${next === null ? "" : "the newest "}${count(rows.length, asked.kind ? "row" : "call")}, ${number(rows.filter(isFailed).length)} failed, ${number(refused)} refused` : ""));
  }

  function render() {
    const of = (some) => rowsOf(asked.kind === "decision" ? decisionsAmong(some.filter(fits)) : some.filter(fits));
    const rows = of(records);
    const waits = of(fresh).length;
    const pause = button(isPaused ? "Resume" : "Pause", () => { isPaused = !isPaused; if (!isPaused) frame.soon(); frame.paint(); }, "btn", { "aria-pressed": String(isPaused) });
    return [
      h("div.title", h("div", h("h1", "Activity"), h("p.sub.behind", "Calls and changes, including refused ones. Times are in your time zone.")),
        h("div.acts.behind", pause, exporting(), go("Conversations", "/ui/activity/session"))),
      filters(rows),
      h(drawn ? "div.cols.mid" : "div", { "data-open": open === null ? undefined : "" },
        h("section.behind", { "aria-labelledby": "rows-h", "data-calls": "" }, h("h2.sr", { id: "rows-h" }, "Calls"),
          waits ? h("button.newrows", { type: "button", on: { click: () => { take(); frame.paint(); } } }, icon("up"), ` Show ${count(waits, "new row")} `, h("kbd.phone-no", ".")) : null,
          failure ? refused() : rows.length ? list(rows) : nothing(),
          next === null ? null : h("p.bar.sec", button("Show older", older), h("span.dim.small", "showing records since ", at(records[records.length - 1]?.time ?? new Date().toISOString())))),
        drawn ? drawn.render() : null),
    ];
  }

  /** Which filters are wrong, each with the way out of it. */
  function refused() {
    const known = { kind: KINDS, outcome: OUTCOMES, since: TIMES, masked: MASKED };
    const strange = Object.keys(known).filter((key) => !known[key].some(([value]) => value === asked[key]));
    const [key] = strange;
    const meant = key && closest(asked[key], [...known[key].map(([value]) => value), ...(key === "kind" ? ["call", "refusal"] : [])].filter(Boolean));
    const use = meant ? button(["Use “", meant, "”"], () => change({ [key]: meant }), "btn small primary") : null;
    const without = (one) => button(["Remove “", said(asked[one]), "”"], () => change({ [one]: "" }), "btn small");
    return wrong(failure, use, strange.length > 1 || !strange.length ? null : without(key), go("Show everything", "/ui/activity", "btn small"));
  }

  function nothing() {
    const isFiltered = KEYS.some((key) => asked[key]);
    if (isFiltered) return h("div.empty", h("b", "No match."), next === null ? "The log has no such record." : "Older records have not been searched yet: press “Show older”.", h("p.acts", button("Show everything", () => frame.visit("/ui/activity"))));
    return h("div.empty", h("b", "No calls yet."), "Connect a client to ", live.status?.url ? h("code", live.status.url) : "mcpproxy", "; its calls appear here live.", h("p.acts", go("Connect a client", "/ui/clients")));
  }

  function list(rows) {
    const href = (record) => `/ui/activity/${record.id}${address({}).slice("/ui/activity".length)}`;
    // The whole row opens it, unless a text in it is being selected.
    const opens = (record) => ({ click: (event) => !event.target.closest("a") && getSelection().isCollapsed && frame.visit(href(record)) });
    const line = (record) => row(`a${record.id}`, [
      cell("nowrap dim", at(record.time)),
      head(thing(record).length > WHOLE ? "mono grow" : "mono grow whole", h("a", { href: href(record), "aria-current": String(record.id) === open ? "true" : undefined }, thingShown(record))),
      cell("l2", variant(record.gate?.call_with ?? record.variant)),
      cell("", outcome(record)),
      cell("dim l2", record.masked ? [h("span.kind.masked", `${count(record.masked, "secret")} masked`), " "] : null, (isTheirs(record) ? said : sentence)(beginning(detail(record), DETAIL))),
      cell("soft nowrap l2", said(asker(record))),
      cell("r l2", record.duration_us === undefined ? "" : took(record.duration_us)),
      cell("r dim hide", record.answer_bytes === undefined ? "" : short(tokens(record.answer_bytes))),
    ], { "aria-selected": String(record.id) === open ? "true" : undefined, on: opens(record) });
    return table("fold.two.dense.opens", [["Time"], ["Call or change"], ["Type"], ["Outcome"], ["Detail"], ["Caller"], ["Took", "r"], ["≈ tokens", "r"]], [rows.map(line)]);
  }

  return {
    title: "Activity", tab: "activity", filters: [...KEYS, "result"], waiting: "Reading the last calls…", load, refresh, render,
    escape: () => open !== null && frame.visit(closeHref()),
    /** Another address of the same place: a record opens beside the list, and the list stays. */
    async adopt(address) {
      const found = /^\/ui\/activity(?:\/(\d+))?\/?$/.exec(address.pathname);
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
