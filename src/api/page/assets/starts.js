// When a server was awake in the last 24 hours, as far as the log says, and what happened to it in that time.

import { h, svg } from "./dom.js";
import { cell, labelled, row, section, state, table } from "./parts.js";
import { part } from "./api.js";
import { at, brief, capital, count, number, said, span, spelt, took } from "./words.js";

const DAY = 86_400_000;

/** Rows that are shown at first. */
const FEW = 6;

/** What a person does that ends a connection. */
const ENDING = ["disable", "quarantine", "remove"];

const WORDS = { ready: ["ready", "Ready"], asleep: ["off", "Slept"], failed: ["err", "Failed"], held: ["held", "Held"], lost: ["err", "Lost"], "login needed": ["auth", "Login needed"] };

/** Stretches in which it was awake, as `[from, to]` in milliseconds; the last one may go on. `records` are those of the server, of the daemon
 * and of what people did to it, in any order. */
export function awake(records, isReady, now) {
  const stretches = [];
  let open = null;
  let run = null;
  let last = now - DAY;
  const sorted = [...records].sort((a, b) => a.id - b.id);
  const end = (when) => { if (open !== null) stretches.push([open, Math.max(open, when)]); open = null; };
  const first = sorted.find((record) => record.kind === "server" && WORDS[record.action]);
  // What ends first has begun before.
  if (first && ["asleep", "lost"].includes(first.action)) open = now - DAY;
  for (const record of sorted) {
    const when = Date.parse(record.time);
    // A daemon that was killed says no end: its servers were gone by what it said last, at the latest.
    if (run !== null && record.run !== run) end(last);
    run = record.run;
    last = when;
    if (record.kind === "server" && record.action === "ready") {
      end(when);
      open = when;
    }
    if (record.kind === "server" && ["asleep", "lost"].includes(record.action)) end(when);
    else if (record.kind === "daemon" && record.action === "stop") end(when);
    else if (record.kind === "change" && record.outcome === "ok" && ENDING.includes(record.action)) end(when);
  }
  if (open !== null) stretches.push([open, isReady ? now : last]);
  else if (isReady && !first) stretches.push([now - DAY, now]);
  return stretches.filter(([, to]) => to > now - DAY);
}

/** `records` are those of the server, `others` those of the daemon and of people, of 24 hours. */
export function startsSection({ name, records, others, isReady, waitsFor, unrecorded }) {
  const now = Date.now();
  const stretches = awake([...records, ...others], isReady, now);
  const failed = records.filter((record) => record.action === "failed" || record.action === "lost");
  return section("Starts", h("p", "last 24 hours; green: running or connected, red: a failed start or a lost connection"),
    drawing(stretches, failed, isReady, now),
    unrecorded ? h("p.hint", `${count(unrecorded, "more attempt")} failed after the newest record.`) : null,
    records.length ? rowsOf(name, records, stretches, isReady) : h("div.empty", h("b", "Nothing happened in the last 24 hours."), isReady ? null : waitsFor));
}

function drawing(stretches, failed, isReady, now) {
  const x = (when) => Math.max(0, Math.min(1000, Math.round((1000 * (when - now + DAY)) / DAY)));
  const ups = stretches.map(([from, to]) => svg("rect.up", { x: Math.min(998, x(from)), y: 12, width: Math.max(2, x(to) - x(from)), height: 14 }));
  const ends = failed.reduce((sum, record) => sum + (record.times ?? 1), 0);
  const fails = failed.slice(0, 200).map((record) => svg("rect.fail", { x: Math.min(998, x(Date.parse(record.time))), y: 8, width: 2, height: 22 }));
  const sum = stretches.reduce((all, [from, to]) => all + to - Math.max(from, now - DAY), 0);
  const times = stretches.length === 0 ? "did not run" : `ran ${stretches.length === 1 ? "once" : `${stretches.length} times`}, ${span(sum / 1000)} in all${isReady ? ", and is still running" : ""}`;
  const label = `Last 24 hours: ${times}; ${ends ? count(ends, "failed start or lost connection", "failed starts or lost connections") : "no failed start or lost connection"}`;
  const hour = (back) => {
    const date = new Date(now - back * 3_600_000);
    return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
  };
  return [
    svg("svg.starts", { viewBox: "0 0 1000 30", preserveAspectRatio: "none", role: "img", "aria-label": label }, svg("rect.down", { x: 0, y: 12, width: 1000, height: 14 }), ups, fails),
    h("p.axis", { "aria-hidden": "true" }, [24, 18, 12, 6].map((back) => h("span", hour(back))), h("span", "now")),
  ];
}

function rowsOf(name, records, stretches, isReady) {
  const shown = alike(records).slice(0, FEW);
  const line = (record) => {
    const [kind, text] = WORDS[record.action] ?? [record.outcome === "failed" ? "err" : "off", record.action ?? record.kind];
    const why = [capital(record.action === "asleep" ? spelt(record.detail) : record.error ?? brief(record.detail ?? "")), record.action === "ready" ? up(record, stretches, isReady) : null];
    return row(`s${record.id}`, [
      cell("nowrap", at(record.time)),
      cell("grow", state(kind, said(record.times > 1 ? `${text} ${number(record.times)} times` : text))),
      cell("full", why),
      record.duration_us === undefined ? cell("r dim hide", "–") : labelled("r dim", "took", took(record.duration_us)),
    ]);
  };
  return [
    table("fold", [["Time"], ["Event"], ["Detail"], ["Took", "r"]], [shown.map(line)]),
    records.length > FEW ? h("p.hint", h("a", { href: `/ui/activity?kind=server&server=${part(name)}&since=24h` }, `All ${records.length}`)) : null,
  ];
}

/** Records without those that say the same as the one after them, which says how often. */
function alike(records) {
  const rows = [];
  for (const record of records) {
    const last = rows.at(-1);
    if (last && record.action === "failed" && last.action === "failed" && last.error === record.error) last.times = (last.times ?? 1) + (record.times ?? 1);
    else rows.push({ ...record });
  }
  return rows;
}

/** How long it was awake from then on. */
function up(record, stretches, isReady) {
  const from = Date.parse(record.time);
  const found = stretches.find(([begin]) => begin === from);
  if (!found) return null;
  const lasts = isReady && found === stretches[stretches.length - 1];
  return `${record.detail ? ". " : ""}Up ${span((found[1] - from) / 1000)}`;
}
