// One conversation as a story: what a client searched, called and was answered, around one record. The log knows no conversations; what
// one caller's client did in one run of the daemon without a long pause is taken for one.

import { ask, part, query } from "./api.js";
import { again } from "./again.js";
import { h } from "./dom.js";
import { write } from "./exact.js";
import { button, cell, crumbs, empty, go, head, json, labelled, outcome, row, segments, strip, table, textBox, variant } from "./parts.js";
import { step } from "./record_drawer.js";
import { PAGE, asker, isFailed, isTheirs, rowsOf, thingShown } from "./records.js";
import { at, beginning, bytes, count, number, said, sentence, short, span, tokens, took } from "./words.js";

/** Milliseconds without a call that part two conversations, and that are told within one. */
const PAUSE = 30 * 60_000;
const GAP = 60_000;

/** Records that are read on either side. */
const READ = 300;

/** Limit: characters of arguments in one line, and of an answer that are shown before it is opened. */
const SHOWN = 160;

/** Limit: tools of an answer that are named. */
const NAMED = 3;

const isSearch = (record) => !record.server && record.tool === "retrieve_tools";
const isBad = (record) => isFailed(record) || record.outcome === "refused";
const isRefused = (record) => record.outcome === "refused";
const time = (record) => new Date(record.time).getTime();
const answers = (records) => records.reduce((n, record) => n + (record.answer_bytes ?? 0), 0);

/** The newest conversations. */
export function stories(frame) {
  let records, next, found;

  async function read(cursor) {
    const page = await ask(query("activity", { kind: "call,refusal", limit: PAGE, cursor }));
    records = cursor ? [...records, ...page.records] : page.records;
    next = page.next;
    const open = new Map();
    found = [];
    for (const record of records) {
      // What nobody is known to have sent belongs to no conversation.
      if (!record.client && !record.caller) continue;
      const who = JSON.stringify([record.client, record.caller, record.run]);
      const of = open.get(who);
      if (of && time(of.at(-1)) - time(record) <= PAUSE) of.push(record);
      else {
        open.set(who, [record]);
        found.push(open.get(who));
      }
    }
  }

  function line(all) {
    const steps = rowsOf(all);
    const [last, begun] = [all[0], all.at(-1)];
    const searches = steps.filter(isSearch).length;
    const [failed, refused] = [steps.filter(isFailed).length, steps.filter(isRefused).length];
    return row(`session ${begun.id}`, [
      head("grow", h("a.go", { href: `/ui/activity/session/${last.id}` }, said(asker(last))), last.client && last.caller ? [" ", h("span.sub", said(last.caller))] : null),
      cell("nowrap dim", at(begun.time)),
      labelled("r l2", "lasted", span((time(last) - time(begun)) / 1000)),
      labelled("r l2", "searched", number(searches)),
      labelled("r l2", "called", number(steps.length - searches)),
      labelled("r l2", "failed", failed ? h("span.bad", number(failed)) : "0"),
      labelled("r l2", "refused", number(refused)),
      cell("r dim hide", short(tokens(answers(steps)))),
    ]);
  }

  const render = () => [
    h("div.title", h("div", crumbs(["Activity", "/ui/activity"], "conversations"), h("h1", "Conversations"), h("p.sub", "Each client’s calls, newest conversation first. A pause of 30 min begins a new conversation."))),
    found.length ? table("fold.two", [["Client"], ["Since"], ["Lasted", "r"], ["Searched", "r"], ["Called", "r"], ["Failed", "r"], ["Refused", "r"], ["≈ tokens", "r"]], [found.map(line)])
      : empty("No calls yet.", "Each client’s conversations with its tools are listed here.", go("Connect a client", "/ui/clients")),
    next === null ? null : h("p.bar.sec", button("Show older", async () => { await read(next); frame.paint(); }), h("span.dim.small", "showing calls since ", at(records.at(-1).time))),
  ];

  return { title: "Conversations", tab: "activity", waiting: "Reading the calls…", load: () => read(), render };
}

export function story(id, first, frame) {
  let steps = [];
  let only = first.get("only") ?? "";
  let middle = null;

  async function load() {
    middle = await ask(`activity/${part(id)}`);
    const { caller, client, run } = middle;
    const of = { kind: "call,refusal", caller, client, run, limit: READ };
    const [before, behind] = await Promise.all([ask(query("activity", { ...of, cursor: middle.id })), ask(query("activity", { ...of, after: middle.id }))]);
    const near = (records) => {
      const taken = [];
      for (const record of records) {
        if (Math.abs(time(record) - time(taken.at(-1) ?? middle)) > PAUSE) break;
        taken.push(record);
      }
      return taken;
    };
    // What a tool of mcpproxy called stands for it.
    steps = rowsOf([...near(before.records).reverse(), middle, ...near(behind.records)]);
  }

  function called(record) {
    const kept = record.arguments !== undefined && Object.keys(record.arguments ?? {}).length;
    return h("li", { "data-row": "", "data-key": `s${record.id}` }, at(record.time), h("span.verb", "called"),
      h("div.what", h("a.mono", { href: `/ui/activity/${record.id}` }, thingShown(record)), " ", variant(record.gate?.call_with ?? record.variant), masked(record), kept ? given(record) : null),
      h("span.r", record.duration_us === undefined ? "" : took(record.duration_us)));
  }

  function given(record) {
    const text = write(record.arguments);
    return text.length <= SHOWN ? h("p", h("code", said(text))) : json(record.arguments, `Arguments of record ${record.id}`);
  }

  /** An answer: its beginning, and all of it for whoever opens it. Without what MCP puts around a text. */
  function answer(record) {
    const { content } = record.result ?? {};
    const [only, ...others] = Array.isArray(content) ? content : [];
    const text = !others.length && only?.type === "text" && typeof only.text === "string" ? only.text : null;
    const label = `Answer of record ${record.id}`;
    const whole = text === null ? json(record.result, label) : textBox(text, label);
    return h("details", { "data-key": `answer ${record.id}` }, h("summary", said(beginning((text ?? write(record.result)).replace(/\s+/g, " "), SHOWN))), whole);
  }

  function answered(record) {
    const bad = isBad(record) || record.outcome === "withdrawn";
    const size = record.answer_bytes === undefined ? "" : `≈ ${short(tokens(record.answer_bytes))} tokens`;
    const text = bad ? h("p.said", (isTheirs(record) ? said : sentence)(record.error ?? record.code ?? "")) : record.answer_bytes === undefined ? null : `${bytes(record.answer_bytes)}`;
    return h("li", { "data-key": `r${record.id}` }, at(record.time), h("span.verb", bad ? outcome(record) : "answered"),
      h("div.what", text, record.result === undefined || bad ? null : answer(record), h("p.acts", bad && record.outcome !== "tool_error" ? step(record) : null, again(record))), h("span.r", size));
  }

  function searched(record) {
    const words = record.arguments?.query ?? "";
    // What it found is known where answers are kept.
    const { tools, total } = record.result?.structuredContent ?? {};
    const names = Array.isArray(tools) ? tools.map((tool) => String(tool.name)) : null;
    const found = names === null ? null : names.length ? [h("code", said(names.slice(0, NAMED).join(", "))), names.length > NAMED || total > names.length ? `${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}${total > names.length ? ` of ${number(total)}` : ""}` : null, ". "] : [h("span.bad", "no tool"), ". "];
    return [
      h("li", { "data-row": "", "data-key": `s${record.id}` }, at(record.time), h("span.verb", "searched"),
        h("div.what", h("a", { href: `/ui/activity/${record.id}` }, `“${words}”`)), h("span.r", record.duration_us === undefined ? "" : took(record.duration_us))),
      h("li", { "data-key": `r${record.id}` }, at(record.time), h("span.verb", isBad(record) ? outcome(record) : "found"),
        h("div.what", found, words ? h("a.u", { href: query("/ui/tools", { q: words }) }, "Search for this now") : null), h("span.r", record.answer_bytes === undefined ? "" : `≈ ${short(tokens(record.answer_bytes))} tokens`)),
    ];
  }

  const masked = (record) => (record.masked ? h("span.kind.masked", `${count(record.masked, "secret")} masked`) : null);

  function lines() {
    const shown = steps.filter((record) => !only || (only === "bad" ? isBad(record) : record.masked));
    let last = null;
    return shown.map((record) => {
      const now = time(record);
      const pause = last !== null && now - last > GAP && !only ? h("li.gap", `${span((now - last) / 1000)} without a call`) : null;
      last = now;
      return [pause, isSearch(record) ? searched(record) : [called(record), answered(record)]];
    });
  }

  function render() {
    const searches = steps.filter(isSearch);
    const calls = steps.filter((record) => !isSearch(record));
    const n = (some) => number(some.length);
    const href = (which) => query(`/ui/activity/session/${part(id)}`, { only: which });
    const tab = (word, which, some) => ({ word, n: n(some), href: href(which), current: only === which });
    const list = query("/ui/activity", middle.client ? { client: asker(middle) } : { caller: middle.caller });
    return [
      h("div.title", h("div", crumbs(["Activity", "/ui/activity"], ["Conversations", "/ui/activity/session"], "conversation"), h("h1", said(asker(middle) || "A client"), ", since ", at(steps[0]?.time ?? middle.time)),
        h("p.sub", middle.caller ? ["Calls by ", h("code", said(middle.caller)), ", with no pause longer than 30 min."] : "Calls with no pause longer than 30 min.")), h("div.acts", go("Show as a list", list))),
      strip([["Searched", count(searches.length, "time")], ["Called", n(calls)], ["Failed", n(calls.filter(isFailed))], ["Refused", n(calls.filter(isRefused))], ["Answers", `${bytes(answers(steps))} ≈ ${short(tokens(answers(steps)))} tokens`]]),
      segments("Filter", [tab("All", "", steps), tab("Failed or refused", "bad", steps.filter(isBad)), tab("Secrets masked", "masked", steps.filter((one) => one.masked))]),
      h("p.hint", "mcpproxy does not see the messages between the user and the agent."),
      steps.length ? h("ol.story", { "data-rows": "" }, lines()) : empty("No calls match.", "", go("All activity", "/ui/activity")),
    ];
  }

  return { title: "Conversation", tab: "activity", waiting: "Reading the calls…", load, render, ways: (failure) => (failure.status === 404 ? { text: "mcpproxy removes old records. The limits are in Settings, under “Activity”.", links: [go("All conversations", "/ui/activity/session")] } : null), navigate: (now) => { only = now.get("only") ?? ""; } };
}
