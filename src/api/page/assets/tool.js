// One tool: what its server says of it, its parameters, what was approved, a form to call it, and who called it.

import { because } from "./access_check.js";
import { argumentsOf } from "./again.js";
import { Failure, ask, askExact, part, post, query } from "./api.js";
import { h, kept } from "./dom.js";
import { write } from "./exact.js";
import { acting, button, cell, crumbs, facts, failed, go, head, json, note, outcome, row, state, table, toast, variant } from "./parts.js";
import { asker, counted, detail, figures, isTheirs, rowsOf } from "./records.js";
import { limits, resolved, typeWord } from "./schema.js";
import { globOf, offerTools } from "./tool_switch.js";
import { tryIt } from "./try_it.js";
import { at, capital, count, number, said, sentence, short, tokens, took, when } from "./words.js";

/** Limit: calls of the history that are shown, callers that are asked about, and parameters within others. */
const SHOWN = 10;
const ASKED = 6;
const DEEPEST = 4;

/** Limit: bytes of a name whose calls the daemon counts by themselves. */
const COUNTED = 128;

/** Parameters that are shown at first, and with each further step: a schema may have tens of thousands. */
const ROWS = 200;
const STEP = 1000;

export function tool(name, frame, first) {
  let known, thing, listed, calls, sums;
  let isSchema = first.get("schema") === "1";
  let form = null;
  let given;
  let most = ROWS;
  let size = 0;
  let entry = null;
  const it = acting(frame);
  let who = [];
  let others = 0;
  // Of a tool that there is not: whether it was ever called, and whether its server is there.
  let was = { isCalled: false, server: null };

  async function load() {
    try {
      known = await askExact(query("tools/show", { name }));
    } catch (error) {
      if (error instanceof Failure && error.status === 404) was = await whatWas();
      throw error;
    }
    const own = known.name.slice(known.server.length + 1);
    const [inspection, list, details] = await Promise.all([ask(`servers/${part(known.server)}/inspect`), ask(query("tools", { server: known.server })), ask(`servers/${part(known.server)}`), history()]);
    if (first.get("from")) given = await argumentsOf(first.get("from"), askExact);
    // The demo server has none that could be changed.
    entry = details.server.demo ? null : details.entry;
    await judge(own);
    thing = inspection.things.find((one) => one.kind === "tool" && one.name === own);
    listed = list.tools.find((one) => one.name === known.name);
  }

  async function whatWas() {
    const [{ records }, { servers }] = await Promise.all([ask(query("activity", { kind: "call", tool: name, limit: 1 })), ask("servers")]);
    return { isCalled: records.length > 0, server: servers.find((one) => name.startsWith(`${one.name}:`)) ?? null };
  }

  /** What leads on where there is no such tool. */
  function ways(error) {
    if (error.status !== 404) return null;
    const { closest } = error;
    return {
      text: [was.server?.enabled === false ? `${was.server.name} is disabled, so its tools are not known. ` : was.server && was.isCalled ? "The activity log has calls to it. " : null, closest ? ["Did you mean ", h("a.u", { href: `/ui/tools/${part(closest)}` }, h("code", said(closest))), "?"] : null],
      links: [
        was.isCalled ? go("Show its calls", query("/ui/activity", { tool: name })) : null,
        was.server === null ? null : go(["Server ", said(was.server.name)], `/ui/servers/${part(was.server.name)}`),
        go("All tools", "/ui/tools"),
      ],
    };
  }

  /** Who may call it: whoever tokens and rules name, as the rules stand. */
  async function judge(own) {
    const { subjects } = await ask("access/callers");
    const some = subjects.slice(0, ASKED);
    const question = (subject) => post("access/check", { subject, server: known.server, name: own });
    // One whose tokens have different roles cannot be judged by the name alone.
    const told = await Promise.all(some.map((subject) => question(subject).catch(() => null)));
    who = told.filter(Boolean);
    others = subjects.length - some.length;
  }

  function whoMay() {
    if (!who.length) return undefined;
    // What holds of the tool itself is told once, above.
    if (!known.callable) return "no caller";
    const alike = new Map();
    for (const verdict of who) {
      const key = `${verdict.allowed} ${verdict.rule ?? ""}`;
      alike.set(key, [...(alike.get(key) ?? []), verdict]);
    }
    const rule = (verdict) => (verdict.rule === undefined ? "" : [", by ", h("a", { href: "/ui/access" }, `rule ${verdict.rule + 1}`)]);
    const all = alike.size === 1 && !others;
    const group = ([first, ...more], i) => [i ? "; " : "", h("span", { title: because(first) }, all ? (first.allowed ? "every caller" : "no caller") : [said([first, ...more].map((one) => one.subject).join(", ")), first.allowed ? " may" : " may not"]), rule(first)];
    return [[...alike.values()].map(group), others ? `; ${count(others, "other")} not shown` : ""];
  }

  async function history() {
    [calls, sums] = await Promise.all([ask(query("activity", { kind: "call", tool: known.name, limit: SHOWN })), figures("24h", { tool: known.name })]);
  }

  /** What of the entry hides the tool: its own name, a pattern that others share, a list that it is not in, or nothing. */
  function hiding() {
    const own = globOf(known.name.slice(known.server.length + 1));
    const isOut = known.code === "tool_disabled";
    if ((entry?.disabled_tools ?? []).includes(own)) return "name";
    if (!isOut) return null;
    return (entry?.disabled_tools ?? []).length ? "pattern" : "list";
  }

  /** Changes the entry, so that agents do not get the tool any more, or get it again. */
  function offer(isOffered) {
    const own = known.name.slice(known.server.length + 1);
    return it.act(isOffered ? "Offering it…" : "Hiding it…", async () => {
      await offerTools(new Map([[known.server, [own]]]), isOffered);
      toast(isOffered ? `Agents can use ${own} again` : `Hidden from agents: ${own}`, () => offer(!isOffered));
      await load();
    });
  }

  function hide() {
    if (it.doing) return h("div.acts", h("span.wait", { role: "status" }, it.doing));
    if (!entry) return null;
    const by = hiding();
    if (by === "name") return h("div.acts", button("Offer to agents", () => offer(true)));
    if (by === null) return h("div.acts", button("Hide from agents", () => offer(false)));
    return h("div.acts", go("Edit the entry", `/ui/servers/${part(known.server)}/edit`));
  }

  function render() {
    const { definition, server } = known;
    const own = known.name.slice(server.length + 1);
    const kind = listed?.call_with ?? thing?.call_with ?? "destructive";
    const schema = definition.inputSchema ?? {};
    form ??= tryIt({ name: known.name, variant: kind, schema, given }, () => history().then(frame.paint, () => {}));
    const waits = ["tool_held", "tool_changed", "server_quarantined"].includes(known.code);
    const isOff = known.code === "server_disabled";
    const enable = () => it.act("Enabling…", () => post(`servers/${part(server)}/enable`).then(load));
    return [
      h("div.title", h("div",
        crumbs(["Servers", "/ui/"], [said(server), `/ui/servers/${part(server)}`], "tool"),
        h("h1.mono", said(own)),
        h("p.tags", variant(kind), known.callable ? [h("span.dim", "offered as"), " ", h("code", said(known.offered_name)), h("span.dim", "·")] : null, standing())), hide()),
      it.failure ? failed(it.failure) : null,
      known.callable ? null : note("held", whyNot(waits), waits ? go("Review", `/ui/review/${part(server)}`, "btn small") : isOff ? button(`Enable ${server}`, enable, "btn small") : known.code === "tool_disabled" ? null : go("Server", `/ui/servers/${part(server)}`, "btn small")),
      h("div.cols.wide", h("div", description(definition), parameters(schema), pin(kind, definition)), waits || isOff ? null : kept(form)),
      past(),
    ];
  }

  /** Why agents cannot call it. That its definition is held stands above. */
  function whyNot(waits) {
    if (waits) return known.code === "server_quarantined" ? "Agents cannot call it: its server is quarantined." : "Agents cannot call it until you approve it.";
    if (known.code !== "tool_disabled") return [h("b", "Agents cannot call it: "), sentence(known.reason)];
    return ["Hidden from agents by ", { name: "its name in ", pattern: "a pattern in " }[hiding()], h("code", hiding() === "list" ? "enabled_tools" : "disabled_tools"), "."];
  }

  function standing() {
    if (known.code === "server_quarantined") return state("held", "quarantined");
    if (thing?.held) return state("held", capital(thing.explanation ?? "held"));
    if (thing?.approved_at) return state("ready", [thing.approved_by ? "definition as approved " : "definition as first seen ", when(thing.approved_at)]);
    return state("ready", "definition as first seen");
  }

  function description(definition) {
    size ||= tokens(write(definition).length);
    return h("section.sec", { "aria-labelledby": "d-h" }, h("header", h("h2", { id: "d-h" }, "Description"), h("p", `from the server; ≈ ${number(size)} tokens with the schema`)),
      definition.description ? h("p.said", said(definition.description)) : h("p.dim", "The server gives no description."));
  }

  function parameters(schema) {
    const rows = [];
    const isAll = rowsFor(schema, schema, "", 0, { rows, most });
    const top = Object.keys(resolved(schema, schema).properties ?? {}).length;
    const rest = isAll ? null : h("p.hint.sec", `The table shows the first ${number(rows.length)} parameters. The schema has ${number(top)} at the top level and others inside them. `, button(`Show ${number(STEP)} more`, () => { most += STEP; frame.paint(); }, "link"), ".");
    const toggle = button(isSchema ? "Show table" : "Show JSON Schema", () => frame.visit(query(`/ui/tools/${part(name)}`, { schema: isSchema ? "" : "1" })), "end link small", { "aria-pressed": String(isSchema) });
    const none = rows.length === 0;
    const body = isSchema
      ? json(schema, "JSON Schema")
      : none ? h("p.dim", "None.") : table("fold.params", [["Name"], ["Type"], ["Required", "", true], ["Meaning"]], [rows]);
    return h("section.sec", { "aria-labelledby": "p-h" }, h("header", h("h2", { id: "p-h" }, "Parameters"), h("p", schema.additionalProperties === false ? "the tool accepts no others" : ""), toggle), body, isSchema ? null : rest,
      known.definition.outputSchema ? h("details.sec", h("summary", "Result"), json(known.definition.outputSchema, "Output schema")) : null);
  }

  function pin(kind, definition) {
    const hints = hintsOf(definition);
    return h("section.sec", { "aria-labelledby": "c-h" }, h("header", h("h2", { id: "c-h" }, "Call type and approval")), facts([
      ["Call type", [h("code", `call_tool_${kind}`), hints.length ? ["; the server declares ", h("code", said(hints.join(", ")))] : "; the server does not declare what the tool does"]],
      ["Fingerprint", thing?.fingerprint ? h("code", { title: thing.fingerprint }, thing.fingerprint.slice(0, 16).replace(/(.{4})(?=.)/g, "$1 ")) : "not known"],
      ["Approved", thing?.held ? "no: this definition is held" : thing?.approved_at ? [when(thing.approved_at), thing.approved_by ? [" by ", said(thing.approved_by)] : ", when first seen"] : "not yet"],
      ["Findings", thing?.findings.length ? h("a", { href: `/ui/review/${part(known.server)}` }, count(thing.findings.length, "finding")) : "none"],
      ["Access", whoMay()],
    ]));
  }

  function past() {
    const rows = rowsOf(calls.records);
    const { all } = sums;
    const last = rows.length > 1 ? `the last ${rows.length}; ` : "";
    const line = (record) => row(`c${record.id}`, [
      cell("nowrap", h("a.go", { href: `/ui/activity/${record.id}` }, at(record.time))),
      cell("grow", said(asker(record))),
      cell("", outcome(record)),
      cell("dim l2", (isTheirs(record) ? said : sentence)(detail(record))),
      cell("r l2", took(record.duration_us)),
      cell("r dim hide", record.answer_bytes === undefined ? "" : short(tokens(record.answer_bytes))),
    ]);
    return h("section.sec", { "aria-labelledby": "h-h" },
      h("header", h("h2", { id: "h-h" }, "History"), h("p", `${last}${counted(all.calls, sums)} ${all.calls === 1 ? "call" : "calls"} in 24 hours, ${number(all.failed)} failed${all.refused ? `, ${number(all.refused)} refused` : ""}`), h("a.end.small", { href: query("/ui/activity", { tool: known.name }) }, "All calls of this tool")),
      recordedAs(calls.records[0]),
      rows.length
        ? table("fold.two", [["Time"], ["Caller"], ["Outcome"], ["Detail"], ["Took", "r"], ["≈ tokens", "r"]], [rows.map(line)])
        : h("div.empty", h("b", "No calls yet."), "New calls appear here live."));
  }

  /** Its name may look like a credential, or be too long for a record. */
  function recordedAs(record) {
    const own = known.name.slice(known.server.length + 1);
    if (!record || record.tool === own) return null;
    const uncounted = new TextEncoder().encode(record.tool).length > COUNTED ? " mcpproxy counts calls to tools with such long names together." : "";
    return h("p.hint", "Records show its name masked or cut: ", h("code", said(record.tool)), ".", uncounted);
  }

  return { title: name, tab: "tools", filters: ["schema", "from"], waiting: `Reading ${name}…`, load, ways, refresh: history, navigate: (now) => { isSchema = now.get("schema") === "1"; }, render };
}

/** A row for each parameter, and for those within them, up to so many. Whether that is all. */
function rowsFor(schema, root, path, depth, into) {
  const { rows, most } = into;
  const here = resolved(schema, root);
  const required = new Set(Array.isArray(here.required) ? here.required : []);
  for (const [key, value] of Object.entries(here.properties ?? {})) {
    if (rows.length >= most) return false;
    const one = resolved(value, root);
    const name = path ? `${path}.${key}` : key;
    const must = required.has(key);
    const told = limits(one);
    rows.push(h("tr", { role: "row", "data-key": name },
      head("mono", said(name)),
      cell("tight", h("code", said(typeWord(one, root)))),
      cell("tight", must ? "required" : h("span.dim", "optional")),
      cell("full", said(typeof one.description === "string" ? one.description : ""), told ? h("div.sub", said(told)) : null)));
    if (depth >= DEEPEST) continue;
    if (one.properties && !rowsFor(one, root, name, depth + 1, into)) return false;
    const items = resolved(one.items, root);
    if (items.properties && !rowsFor(items, root, `${name}[]`, depth + 1, into)) return false;
  }
  return true;
}

/** What the server says of a tool's effects. */
const hintsOf = (definition) => Object.entries(definition.annotations ?? {}).filter(([, value]) => typeof value === "boolean").map(([key, value]) => `${key}: ${value}`);
