// One record of the activity log, with all that is known of it.

import { ask, askExact, part, query } from "./api.js";
import { again } from "./again.js";
import { argumentsSection, gateSection, timeSection, toldSection } from "./course.js";
import { h, icon } from "./dom.js";
import { feed } from "./feed.js";
import { copying, facts, go, note, outcome, variant, wrong } from "./parts.js";
import { isTheirs, thingShown } from "./records.js";
import { at, capital, bytes, number, said, took } from "./words.js";

/** Reads it, and gives what renders it. */
export async function recordDrawer(id, close) {
  const record = await askExact(`activity/${part(id)}`);
  const [inner, list] = await Promise.all([record.call ? ask(query("activity", { call: record.call, run: record.run, limit: 50 })) : { records: [] }, record.server ? ask("servers") : { servers: [] }]);
  // In the order in which they were made.
  const others = inner.records.filter((one) => one.id !== record.id && one.run === record.run).sort((a, b) => a.id - b.id);
  const isThere = list.servers.some((one) => one.name === record.server);
  return { render: () => drawer(record, others, isThere, close) };
}

/** The same where there is no such record. */
export const noRecord = (failure, close) => ({
  render: () => h("aside.drawer.open", { "aria-label": "Detail", "data-key": "no record" }, wrong(failure), h("p.hint", "mcpproxy removes old records. The limits are in Settings, under “Activity”."), h("p.acts", go("All activity", close))),
});

function drawer(record, others, isThere, close) {
  const bad = record.error ?? (record.outcome === "ok" ? "" : record.detail);
  return h("aside.drawer.open", { id: "call", "aria-labelledby": "call-h", "data-key": `d${record.id}` },
    h("header", h("div", h("p.crumb", at(record.time), ` · record ${record.id}`), h("h2.mono", { id: "call-h" }, thingShown(record))),
      h("a.iconbtn", { href: close, "aria-label": "Close detail" }, icon("x"))),
    bad ? note(record.outcome === "refused" ? "held" : "err", isTheirs(record) ? said(bad) : capital(bad), isThere || !record.server ? step(record) : null) : null,
    facts([
      ["Outcome", [outcome(record), " ", record.code ? h("code", said(record.code)) : null]],
      ["Caller", record.caller ? [record.client ? [said(record.client), ", "] : null, h("code", said(record.caller))] : undefined],
      ["Endpoint", record.endpoint ? h("code", said(record.endpoint)) : undefined],
      ["Call type", record.variant ? variant(record.variant) : undefined],
      ["Method", record.method ? h("code", said(record.method)) : undefined],
      ["Call", record.call ? [h("code", said(record.call)), " ", copying("copy", record.call, "link small")] : undefined],
      ["Caused by", record.parent ? h("a", { href: query("/ui/activity", { call: record.parent, run: record.run }) }, h("code", said(record.parent))) : undefined],
      ["Reason given", record.reason ? said(record.reason) : undefined],
      ["Sensitivity", record.data_sensitivity ? said(record.data_sensitivity) : undefined],
      ["Action", record.action ? said(record.action) : undefined],
      ["Detail", record.detail && record.detail !== bad ? said(record.detail) : undefined],
      ["Took", record.duration_us === undefined || record.spent ? undefined : took(record.duration_us)],
      ["Request, answer", sizes(record)],
      ["Masked", record.masked ? h("span.kind.masked", `${record.masked === 1 ? "1 value that looks like a secret" : `${record.masked} values that look like secrets`}`) : undefined],
      ["Occurred", record.times === undefined ? undefined : `${number(record.times)} times`],
      ["Server", record.server && (isThere ? h("a", { href: `/ui/servers/${part(record.server)}` }, said(record.server)) : [said(record.server), ", which is not configured"])],
    ]),
    h("p.acts.sec", again(record), record.kind === "call" && record.caller ? go("Show surrounding calls", `/ui/activity/session/${record.id}`, "btn small") : null),
    gateSection(record), timeSection(record), argumentsSection(record), toldSection(record),
    others.length ? h("section.sec", h("header", h("h3", record.parent ? "Other calls of the same script" : "Calls made by this call")), feed(others)) : null);
}

/** How much was asked and answered. Of what we answered ourselves no size is known. */
function sizes({ request_bytes: asked, answer_bytes: answered, outcome: ended }) {
  if (asked === undefined) return undefined;
  if (answered !== undefined) return `${bytes(asked)}, ${bytes(answered)}`;
  return ended === "withdrawn" ? `${bytes(asked)}, no answer` : [bytes(asked), h("span.dim", ", size of the answer not measured")];
}

/** The one step that this page can offer after what was refused or failed. */
export function step(record) {
  if (record.code === "access_denied") return go("Open Access", "/ui/access", "btn small");
  const name = record.server && part(record.server);
  if (!name) return null;
  if (["tool_held", "tool_changed", "server_quarantined"].includes(record.code)) return go("Review", `/ui/review/${name}`, "btn small");
  if (record.step?.do === "allow_longer_calls") return go("Allow longer calls", `/ui/servers/${name}/edit`, "btn small");
  if (record.step?.do === "read_log" || record.step?.has_log) return go("Open log", `/ui/servers/${name}#log`, "btn small");
  if (record.code === "login_required") return go("Log in", `/ui/servers/${name}/login`, "btn small");
  return go("Open server", `/ui/servers/${name}`, "btn small");
}
