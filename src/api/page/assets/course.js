// What a record says of the way of its call: what the gate decided, where the time went, and what was answered.

import { h, svg } from "./dom.js";
import { write } from "./exact.js";
import { copying, facts, json } from "./parts.js";
import { bytes, number, said, took } from "./words.js";

/** Limit: larger arguments and answers are never kept, whatever the setting. */
const LARGEST = 65_536;

/** The questions of the gate in its order, each with the code of the refusal that it ends in. */
const QUESTIONS = [
  ["access", ["access_denied"]],
  ["enabled", ["server_disabled"]],
  ["quarantine", ["server_quarantined"]],
  ["switched", ["tool_disabled"]],
  ["definition", ["tool_held", "tool_changed"]],
  ["class", ["wrong_variant"]],
];

/** What the gate decided, as far as the record says so or it follows from the order of its questions. */
export function gateSection(record) {
  const refusedAt = QUESTIONS.findIndex(([, codes]) => codes.includes(record.code) && record.outcome === "refused");
  const { gate } = record;
  if (refusedAt < 0 && !gate) return notAsked(record);
  const asked = refusedAt < 0 ? QUESTIONS.length : refusedAt;
  const verdict = (name, passed, refused) => {
    const at = QUESTIONS.findIndex(([question]) => question === name);
    if (at === refusedAt) return ["refused: ", refused];
    return at < asked ? passed : null;
  };
  const rows = [
    ["Access rule", verdict("access", access(gate, true), access(gate, false))],
    ["Server", verdict("enabled", "enabled", "the server is disabled")],
    ["Quarantine", verdict("quarantine", "not quarantined", "the server is quarantined")],
    ["Tool", record.tool === undefined ? undefined : verdict("switched", "enabled", "the server’s entry disables the tool")],
    ["Definition", record.tool === undefined ? undefined : verdict("definition", pinned(gate), record.code === "tool_changed" ? "the definition differs from the approved one" : "the definition is not approved")],
    ["Call type", record.variant || record.code === "wrong_variant" ? verdict("class", called(record), "the tool does more than the declared call type allows") : undefined],
  ];
  // Facts leave out what has no verdict: it is named in one line.
  const rest = rows.filter(([, found]) => found === null).map(([word], i) => (i ? word.toLowerCase() : word));
  return h("section.sec", { "aria-labelledby": "gate-h" }, h("header", h("h3", { id: "gate-h" }, "Checks")), facts([...rows, ["Not checked", rest.length ? h("span.dim", rest.join(", ")) : undefined]]));
}

/** A call that failed before the gate was asked: what a server offers has to be known first. */
function notAsked({ kind, server, outcome }) {
  if (kind !== "call" || server === undefined || outcome !== "failed") return null;
  return h("section.sec", { "aria-labelledby": "gate-h" }, h("header", h("h3", { id: "gate-h" }, "Checks")), h("p.dim", "Not checked: the call failed before the server’s tools were known."));
}

function access(gate, isAllowed) {
  const word = isAllowed ? "allowed" : "denied";
  switch (gate?.decided_by) {
    case undefined: return isAllowed ? "allowed" : "denied";
    case "no_rules": return "there are no access rules";
    case "rule": return [`${word} by `, h("a.u", { href: "/ui/access" }, `rule ${gate.rule + 1}`)];
    case "default": return `${word}, no rule matches`;
    case "token": return ["allowed by the rules, but not by its ", h("a.u", { href: "/ui/access" }, "token")];
    default: return `${word} by all rules together`;
  }
}

function pinned(gate) {
  if (gate?.definition) return ["as approved, ", h("code", { title: gate.definition }, gate.definition.slice(0, 8).replace(/(.{4})(?=.)/, "$1 "))];
  return gate ? "not checked: the server’s entry accepts changed tools" : "as approved";
}

function called({ variant, gate }) {
  const needed = gate?.call_with;
  if (!needed) return `declared as ${variant}`;
  if (!variant) return needed;
  return needed === variant ? `${variant}, as the tool requires` : `declared as ${variant}; the tool needs ${needed}`;
}

/** Where the time went, if a server had to do with it. */
export function timeSection(record) {
  const { spent, duration_us: all } = record;
  if (!spent || all === undefined) return null;
  const parts = [["checks", spent.gate_us], ["wait", spent.waiting_us], [record.server ?? "server", spent.server_us], ["client", spent.client_us ?? 0]];
  const rest = Math.max(0, all - parts.reduce((sum, [, us]) => sum + us, 0));
  const shown = [...parts.filter(([word, us]) => us > 0 || word !== "client"), ["answer", rest]];
  let from = 0;
  const line = ([word, us]) => {
    const at = (100 * from) / Math.max(1, all);
    const width = Math.max(0.8, (100 * us) / Math.max(1, all));
    from += us;
    const bar = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: Math.min(at, 100 - width).toFixed(2), width: width.toFixed(2), height: 8 }));
    return [h("span", said(word)), bar, h("span.num", took(us))];
  };
  const waited = spent.waiting_us > 0.5 * all && spent.waiting_us > 50_000;
  return h("section.sec", { "aria-labelledby": "time-h" }, h("header", h("h3", { id: "time-h" }, "Time"), h("p", took(all))),
    h("div.phases", shown.map(line)),
    waited ? h("p.hint", spent.server_us === 0 && record.outcome !== "ok" ? "mcpproxy waited most of the time for the server, which did not start in time." : "mcpproxy waited most of the time for the server to start.") : null);
}

/** What was sent along. */
export function argumentsSection(record) {
  if (record.arguments !== undefined) return kept("Arguments", "as logged, secrets masked", record.arguments);
  if (!record.request_bytes || record.kind !== "call") return null;
  const why = record.request_bytes > LARGEST ? `${bytes(record.request_bytes)}. The log keeps no arguments above 64 KB.` : [`${bytes(record.request_bytes)}, not logged. The setting “Keep arguments” was off, or the call had no arguments.`];
  return h("section.sec", h("header", h("h3", "Arguments")), h("p.dim", why));
}

/** What the caller was told, as far as the log keeps it. */
export function toldSection(record) {
  if (record.kind !== "call") return null;
  const title = "Answer";
  if (record.told !== undefined) return kept(title, record.code && /^-?\d+$/.test(record.code) ? "as a JSON-RPC error, secrets masked" : "secrets masked", record.told);
  if (record.result !== undefined) return kept(title, "as logged, secrets masked", record.result);
  return h("section.sec", { "aria-label": title }, h("header", h("h3", title)), h("p.dim", untold(record)));
}

function untold(record) {
  if (record.outcome === "withdrawn") return "No answer: the caller cancelled the call or disconnected.";
  if (record.answer_bytes === undefined) return "Not logged.";
  const size = `${number(record.answer_bytes)} bytes`;
  if (record.answer_bytes > LARGEST) return [size, ". The log keeps no answers above 64 KB."];
  return [size, ", not logged. To log answers, change ", h("a.u", { href: "/ui/settings" }, "Keep answers"), " in Settings."];
}

function kept(title, how, value) {
  const text = write(value, 2);
  return h("section.sec", { "aria-label": title }, h("header", h("h3", title), h("p", how), copying("copy", text, "end link small")), json(value, `${title}, as JSON`));
}
