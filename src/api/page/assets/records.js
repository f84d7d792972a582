// Records of the activity log as the page shows them: which rows there are, what they are about, and what they add up to.

import { ask, query } from "./api.js";
import { h } from "./dom.js";
import { written } from "./exact.js";
import { count, number, said } from "./words.js";

/** Records that are read of the newest calls. */
const NEWEST = 50;

/** Limit: records of one page, as the daemon gives them. */
export const PAGE = 1000;

const VARIANTS = /^call_tool(?:_read|_write|_destructive)?$/;

/** Rows for people: a call that a tool of ours made is one row, so that of the tool is left out where it ended alike. */
export function rowsOf(records) {
  const inner = new Map(records.filter((record) => record.parent).map((record) => [`${record.run} ${record.parent}`, record]));
  return records.filter((record) => {
    if (record.server || !VARIANTS.test(record.tool ?? "")) return true;
    return inner.get(`${record.run} ${record.call}`)?.outcome !== record.outcome;
  });
}

/** Changes whose names in the log are none that people use. */
const ACTIONS = { permit_contact: "list the tools of", forbid_contact: "no longer list the tools of", withdraw_approval: "undo the approval of", lift_quarantine: "end the quarantine of" };

/** What a record is about, as text. */
export function thing(record) {
  const name = record.tool ?? record.prompt ?? record.resource ?? record.task;
  if (record.server && name !== undefined && record.resource === undefined) return `${record.server}:${name}`;
  if (record.kind === "refusal" && record.endpoint) return record.endpoint;
  return name ?? (record.server ? `${ACTIONS[record.action] ?? record.action ?? record.method ?? record.kind} ${record.server}` : record.action ?? record.method ?? record.kind);
}

/** The same, with the colon in grey. */
export function thingShown(record) {
  const text = thing(record);
  if (record.server && text.startsWith(`${record.server}:`)) {
    return [said(record.server), h("span.dim", ":"), h("wbr"), said(text.slice(record.server.length + 1))];
  }
  return said(text);
}

/** What the codes of refusals mean, in a few words. */
const REFUSED = {
  tool_changed: "its definition changed", tool_held: "held for review", tool_disabled: "disabled", server_disabled: "its server is disabled",
  server_quarantined: "its server is quarantined", login_required: "needs a login",
};

/** How a call was declared, and what its tool does. */
const tooMild = ({ variant, gate }) => (variant && gate?.call_with ? `called as ${variant}, but the tool is ${gate.call_with}` : "the tool does more than the call type allows");

/** Who denied a call. */
function deniedBy({ gate, error }) {
  switch (gate?.decided_by) {
    case "rule": return `denied by rule ${gate.rule + 1}`;
    case "default": return "no rule allows it";
    case "rules": return "denied by the rules";
    case "token": return "its token does not allow it";
    default: return error;
  }
}

/** Its error; of a tool of mcpproxy that answers as JSON, the message in that. */
function inWords({ server, error }) {
  const { message } = (!server && written(error ?? "").value?.error) || {};
  return typeof message === "string" ? message : error;
}

/** What there is to say beside the outcome. */
export function detail(record) {
  const own = { access_denied: deniedBy, wrong_variant: tooMild }[record.code];
  const text = (own ? own(record) : REFUSED[record.code]) ?? inWords(record) ?? record.detail ?? record.code;
  if (text) return record.times > 1 ? `${text}, ${number(record.times)} times` : text;
  if (record.missing) return `${count(record.missing, "record is", "records are")} missing`;
  const query = record.server ? undefined : record.arguments?.query;
  return typeof query === "string" ? `“${query.slice(0, 80)}”` : "";
}

/** Whether its error is the server's own text, which stays as it is. */
export const isTheirs = (record) => ["tool_error", "rpc_error"].includes(record.outcome);

export const isFailed = (record) => ["failed", "tool_error", "rpc_error", "invalid"].includes(record.outcome);

/** The program that asked; where it says nothing of itself, who. A last word with a digit is its version, as the figures count it. */
export const asker = (record) => record.client?.replace(/ [^ ]*\d[^ ]*$/, "") || record.caller || "";

/** The newest calls, kept up to date: some at first, and then what is new. What calls add up to, the daemon says: see `figures`. */
export class Calls {
  records = [];

  async load() {
    const page = await ask(query("activity", { kind: "call", limit: NEWEST }));
    this.records = page.records;
  }

  async refresh() {
    const newest = this.records[0]?.id ?? 0;
    if (!newest) return this.load();
    const page = await ask(query("activity", { kind: "call", after: newest, limit: NEWEST }));
    // More than are shown: those before them are of no use. A daemon whose log was begun anew counts from one.
    if (page.next !== null) return this.load();
    this.records = [...page.records.reverse(), ...this.records].slice(0, NEWEST);
  }

  rows() {
    return rowsOf(this.records);
  }
}

/** What the calls of the last `1h` or `24h` add up to; of all, of a `server`, or of a `tool`. */
export const figures = (since, of = {}) => ask(query("activity/figures", { since, ...of }));

/** Calls that were counted: at least so many where not all were. */
export const counted = (n, { complete }) => `${number(n)}${complete ? "" : " or more"}`;
