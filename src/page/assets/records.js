// Records of the activity log as the page shows them: which rows there are, what they are about, and what they add up to.

import { ask, query } from "./api.js";
import { h } from "./dom.js";
import { said } from "./words.js";

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

/** What a record is about, as text. */
export function thing(record) {
  const name = record.tool ?? record.prompt ?? record.resource ?? record.task;
  if (record.server && name !== undefined && record.resource === undefined) return `${record.server}:${name}`;
  return name ?? (record.server ? `${record.action ?? record.method ?? record.kind} ${record.server}` : record.action ?? record.method ?? record.kind);
}

/** The same, with the colon in grey. */
export function thingShown(record) {
  const text = thing(record);
  if (record.server && text.startsWith(`${record.server}:`)) {
    return [said(record.server), h("span.dim", ":"), said(text.slice(record.server.length + 1))];
  }
  return said(text);
}

/** What there is to say beside the outcome. */
export function detail(record) {
  return record.code ?? record.error ?? record.detail ?? (record.missing ? `${record.missing} records are missing` : "");
}

export const isFailed = (record) => ["failed", "tool_error", "rpc_error", "invalid"].includes(record.outcome);

/** The program that asked; where it says nothing of itself, who. */
export const asker = (record) => record.client?.split(" ")[0] || record.caller || "";

const HOUR = 3_600_000;

/** How many stretches an hour has in small charts. */
const STRETCHES = 12;

/** The newest calls, kept up to date: one page at first, and then what is new. */
export class Calls {
  records = [];
  /** Whether there are older ones than these. */
  isCut = false;

  async load() {
    const page = await ask(query("activity", { kind: "call", limit: PAGE }));
    this.records = page.records;
    this.isCut = page.next !== null;
  }

  async refresh() {
    const newest = this.records[0]?.id ?? 0;
    if (!newest) return this.load();
    const page = await ask(query("activity", { kind: "call", after: newest, limit: PAGE }));
    // A daemon whose log was begun anew counts from one.
    this.records = [...page.records.reverse(), ...this.records].slice(0, PAGE * 2);
  }

  rows() {
    return rowsOf(this.records);
  }

  /** What the last hour adds up to, for all and for each server. */
  hour() {
    const now = Date.now();
    const all = { calls: 0, failed: 0, refused: 0, times: [], clients: new Map() };
    const servers = new Map();
    for (const record of this.rows()) {
      const age = now - Date.parse(record.time);
      const of = record.server && this.#server(servers, record);
      if (of && !of.last) of.last = record.time;
      if (age > HOUR) continue;
      all.calls += 1;
      if (isFailed(record)) all.failed += 1;
      if (record.outcome === "refused") all.refused += 1;
      if (record.duration_us !== undefined) all.times.push(record.duration_us);
      if (record.client) all.clients.set(asker(record), true);
      if (!of) continue;
      of.calls += 1;
      const stretch = of.stretches[Math.max(0, STRETCHES - 1 - Math.floor((age / HOUR) * STRETCHES))];
      stretch[0] += 1;
      if (isFailed(record)) stretch[1] += 1;
    }
    return { all, servers };
  }

  #server(servers, record) {
    let of = servers.get(record.server);
    if (!of) {
      of = { calls: 0, last: null, stretches: Array.from({ length: STRETCHES }, () => [0, 0]) };
      servers.set(record.server, of);
    }
    return of;
  }
}

/** A value that so much of all are below: `share` is 0.5 or 0.95. */
export function percentile(values, share) {
  if (!values.length) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
