// Parts that more than one place has: states, tables, notices, empties, confirmations, toasts.

import { Failure } from "./api.js";
import { fill, h, icon, svg } from "./dom.js";
import { write } from "./exact.js";
import { capital, count, number, said, sentence } from "./words.js";

/** A state: a shape and a word. `kind` is ready, off, dis, work, auth, err or held. */
export function state(kind, word, attributes = {}) {
  const looks = kind === "dis" ? "off" : kind;
  return h(`span.state.is-${looks}`, attributes, icon(`s-${kind}`, kind === "work"), Array.isArray(word) ? h("span", word) : word);
}

/** Whether a server failed, also where it is tried again by now. */
export const hasFailed = (row) => row.state === "Error" || (row.state === "Connecting" && Boolean(row.last_error));

/** Whether a person has to look at a server. */
export const needsYou = (row) => row.enabled && (row.quarantined || Boolean(row.held || row.left_out) || (hasFailed(row) && row.step?.do !== "wait") || row.state === "Authenticating");

/** The state of a server in one word. */
export function serverState(row) {
  if (!row.enabled) return state("dis", "Disabled");
  if (row.quarantined) return state("held", "Quarantined");
  switch (row.state) {
    case "Ready": return state("ready", "Ready");
    case "Connecting": return state("work", "Starting");
    case "Authenticating": return state("auth", "Needs a login");
    case "Error": return /^Needs/.test(row.shown_state) ? state("auth", row.shown_state) : state("err", "Error");
    default: return state("off", row.shown_state ?? row.state);
  }
}

/** What became of a call, and whether that is well, refused or wrong. */
export function outcome(record) {
  const word = { tool_error: "tool error", rpc_error: "protocol error" }[record.outcome] ?? record.outcome;
  return state(outcomeKind(record), word);
}

export function outcomeKind(record) {
  switch (record.outcome) {
    case "ok": return "ready";
    case "asked": return "work";
    case "withdrawn": return "off";
    case "refused": return "held";
    default: return "err";
  }
}

/** `read`, `write` or `destructive`. */
export const variant = (word) => word && h(`span.kind.${["read", "write", "destructive"].includes(word) ? word : "read"}`, word);

/** A table. `columns` are `[heading, classes]`; rows are made with `row` and `cell`. */
export function table(classes, columns, bodies, attributes = {}) {
  const heading = ([text, kind, hidden]) => h("th", { role: "columnheader", scope: "col", class: kind }, hidden ? h("span.sr", text) : text);
  return h(
    `table.rows.${classes}`,
    { role: "table", "data-rows": "", ...attributes },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(heading))),
    bodies.map((rows) => h("tbody", { role: "rowgroup" }, rows)),
  );
}

export const row = (key, cells, attributes = {}) => h("tr", { role: "row", "data-row": "", "data-key": key, ...attributes }, cells);
export const head = (classes, ...children) => h("th", { role: "rowheader", scope: "row", class: classes }, children);
export const cell = (classes, ...children) => h("td", { role: "cell", class: classes }, children);
export const labelled = (classes, label, ...children) => h("td", { role: "cell", class: classes, "data-l": label }, children);

let sections = 0;

/** A section with its heading. */
export function section(title, aside, ...children) {
  sections = (sections + 1) % 100_000;
  const id = `h-${slug(title)}`;
  return h("section.sec", { "aria-labelledby": id, "data-key": id }, h("header", h("h2", { id }, title), aside), children);
}

const slug = (text) => (typeof text === "string" ? text.toLowerCase().replace(/[^a-z0-9]+/g, "-") : `n${sections}`);

/** Facts: `[term, definition]`, without those that are undefined. */
export function facts(pairs, classes = "facts") {
  return h(`dl.${classes}`, pairs.filter(([, definition]) => definition !== undefined && definition !== null).map(([term, definition]) => [h("dt", term), h("dd", definition)]));
}

/** The same side by side. */
export const strip = (pairs) => h("dl.strip", pairs.filter(([, definition]) => definition !== undefined).map(([term, definition]) => h("div", h("dt", term), h("dd", definition))));

const SYMBOLS = { err: "s-err", warn: "s-auth", held: "s-held", work: "s-work", plain: "s-dis", done: "s-ready" };

/** A notice. `kind` is err, warn, held, work, done or plain. */
export function note(kind, children, ...buttons) {
  const classes = ["work", "done", "plain"].includes(kind) ? "" : `.${kind}`;
  return h(`div.note${classes}`, { "data-key": `note-${kind}` }, icon(SYMBOLS[kind], kind === "work"), h("span", children), buttons);
}

/** A failure, with what to do. */
export const failed = (failure, ...buttons) => note("err", [h("b", ended(failure.message, failure.server)), " ", ended(stepOf(failure)), " ", codeOf(failure)], ...buttons);

/** What helps, in the words of the page. The hint of the daemon may name requests of REST, but for a name or value that can be given otherwise, and for a server that is down. */
const stepOf = ({ step, closest, hint, code }) => (step && closest ? `Did you mean ${closest}?` : step && !(step.do === "act" && /^(?:server|token)_exists$|^server_unavailable$|^invalid_/.test(code)) ? stepWords({ step }) : hint);

/** What to do next, where this page can do it: the terminal has a command for it. */
export function stepWords({ step, next_step: told }) {
  switch (step?.do) {
    case "read_log": return "read its log, then correct its command or its arguments";
    case "run_by_hand": return "correct its command or its arguments; it wrote no log";
    case "set_secret": case "set_variable": return `enter ${step.name} on the server’s page`;
    case "check_config": return "correct the configuration file";
    case "describe_config": return "correct the value, then try again";
    case "connect_client": return "connect the client, then move its servers";
    case "log_in": return "log in; your browser opens its page";
    case "review": case "enable": case "restart": case "remove": return `${step.do} it`;
    case "wait": return "try again later";
    case "find_type": return "check the path of its URL, or edit the server and set Transport to “detected automatically”";
    case "allow_longer_calls": return "check whether the call ran, then allow longer calls";
    case "check_call": return `check whether the call ran${step.has_log ? ", then read its log" : ""}`;
    case "fix_entry": return step.how ?? "correct its entry";
    default: return told;
  }
}

/** A failure without the step of the command line, since what helps is on the page. */
export const wrong = (failure, ...buttons) => note("err", [h("b", ended(failure.message)), " ", codeOf(failure)], ...buttons);

/** A sentence with its end; one that begins with the name of a server begins as that does. */
const ended = (text, name) => (text ? [name && text.startsWith(`${name} `) ? sentence(text) : capital(text), /[.!?]$/.test(text) ? "" : "."] : null);

/** The code comes last: it is for whoever looks it up. */
const codeOf = (failure) => (failure.code && failure.code !== "invalid_arguments" ? h("code.dim", said(failure.code)) : null);

/** What is so where there is nothing, then the way out. */
export const empty = (title, text, ...buttons) => h("div.empty", h("b", title), text, buttons.length ? h("p.acts", buttons) : null);

/** A place that could not be read. `ways` are what helps there: `{text, links}`; without them the daemon's own step is told. */
export function unreadable(failure, again, ways) {
  const details = [failure.code, failure.message, failure.hint].filter(Boolean).join("\n");
  return h(
    "div.empty",
    h("b.bad", ended(failure.message, failure.server)),
    ways ? ways.text : ended(stepOf(failure)),
    " ", codeOf(failure),
    h("p.acts", ways?.links ?? (failure.isFinal ? go("Servers", "/ui/") : button("Try again", again)), copying("Copy details", details)),
  );
}

/** The ways out of the page of a server that there is not; `to` gives the address of the same page of another. */
export function noServer(failure, to, ...links) {
  if (failure.status !== 404) return null;
  const { closest } = failure;
  const meant = closest ? ["Did you mean ", h("a.u", { href: to(closest) }, said(closest)), "?"] : null;
  return { text: meant, links: [go("Servers", "/ui/"), ...links] };
}

/** What is waited for, in the height that the rows will have. */
export function waiting(text) {
  const ghost = () => h("tr", ["w2", "w1", "w3"].map((width) => h("td", h(`span.${width}`))));
  return h(
    "div",
    h("p.wait", { role: "status" }, icon("s-work", true), text),
    h("table.rows.ghost", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 6 }, ghost))),
  );
}

/** A button. */
export const button = (word, click, classes = "btn", attributes = {}) => h(`button.${classes.split(" ").join(".")}`, { type: "button", on: { click }, ...attributes }, word);

export const go = (word, href, classes = "btn") => h(`a.${classes.split(" ").join(".")}`, { href }, word);

/** What is done in a place, one thing after the other: what is chosen meanwhile follows. `doing` says what is under way, `failure` what the
 * last came to; `after` is awaited before that is shown. */
export function acting(frame, after = () => {}) {
  let before = Promise.resolve();
  const now = async (word, doIt) => {
    [it.doing, it.failure] = [word, null];
    // What can be undone now is not what was done before.
    endToast();
    frame.paint();
    try {
      await doIt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      it.failure = error;
    } finally {
      it.doing = null;
      await after();
      frame.paint();
      frame.soon();
    }
  };
  const it = { doing: null, failure: null, act: (word, doIt) => (before = before.catch(() => {}).then(() => now(word, doIt))) };
  return it;
}

const endToast = () => { document.getElementById("toast").hidden = true; };

/** What somebody does who may have read the toast; one with *Undo* stays until a click. */
const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel"];
let listening = new AbortController();

/** Something that can be undone or was copied, never an error. It stays for a while, and then until somebody does something: who looks
 * elsewhere loses nothing. */
export function toast(text, undo) {
  const box = document.getElementById("toast");
  const due = performance.now() + (undo ? 20_000 : 4000);
  const end = () => {
    if (performance.now() > due && !box.matches(":hover") && !box.contains(document.activeElement)) endToast();
  };
  listening.abort();
  listening = new AbortController();
  for (const sign of undo ? ["click"] : SIGNS) addEventListener(sign, end, { signal: listening.signal, capture: true, passive: true });
  fill(box, text, undo ? button("Undo", () => { endToast(); undo(); }, "link") : null);
  box.hidden = false;
}

/** What was undone, and the files of clients that got servers back. */
export const undoneWords = (what, back) => [what, ...back.map((one) => `${count(one.servers.length, "server")} put back into ${one.file}`)].join("; ");

export async function copy(text, what = text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(what.length > 60 ? "Copied" : `Copied ${what}`);
  } catch {
    toast("The browser blocked copying: select the text and copy it yourself");
  }
}

/** A button that copies. */
export const copying = (word, text, classes = "btn") => button(word, () => copy(text, "the text"), classes);

/** A command that can be copied. */
export const command = (text) => h("div.cmd", h("code", text), h("button.iconbtn", { type: "button", "aria-label": `Copy ${text.slice(0, 60)}`, on: { click: () => copy(text) } }, icon("copy")));

/** Boxes of rows that are chosen. `has(key)` says which are, `set(key, is)` chooses, `keys()` gives those that can be, in their order; with
 * *Shift*, all from the one before. */
export function ticks(frame, { has, set, keys }) {
  let last = null;
  const pick = ({ target, shiftKey }, key) => {
    const all = keys();
    const [from, to] = [all.indexOf(shiftKey ? last : key), all.indexOf(key)].sort((a, b) => a - b);
    for (const one of from < 0 ? [key] : all.slice(from, to + 1)) set(one, target.checked);
    last = key;
    frame.paint();
  };
  const pickAll = ({ target }) => {
    for (const one of keys()) set(one, target.checked);
    frame.paint();
  };
  return {
    box: (key, about) => h("input", { type: "checkbox", checked: has(key), on: { click: (event) => pick(event, key) }, ...about }),
    all(isBusy) {
      const all = keys();
      return h("label", h("input", { type: "checkbox", checked: all.length > 0 && all.every(has), disabled: Boolean(isBusy) || !all.length, on: { change: pickAll } }), ` all ${number(all.length)}`);
    },
  };
}

/** The same for a set of those that are chosen. */
export const ticksOf = (frame, picked, keys) => ticks(frame, { has: (key) => picked.has(key), set: (key, is) => (is ? picked.add(key) : picked.delete(key)), keys });

/** Asks in place of the button that was pressed, and only where undo is impossible. The focus is on what changes nothing: who presses *Enter* once more has not decided. */
export function confirm(title, consequence, verb, act, keep, kept = "Keep") {
  const safe = button(kept, keep, "btn", { "data-safe": "" });
  queueMicrotask(() => requestAnimationFrame(() => document.querySelector("[data-safe]")?.focus()));
  return h("div.confirm.danger", { role: "group", "aria-label": title }, h("div", h("b", title), h("br"), h("span.soft", consequence)), safe, button(verb, act, "btn danger"));
}

/** Links above a title. */
export const crumbs = (...items) => h("nav.crumb", { "aria-label": "Breadcrumb" }, h("ol", items.map((item) => h("li", Array.isArray(item) ? h("a", { href: item[1] }, item[0]) : item))));

/** Choices that are links, since they stand in the address. */
export function segments(label, items) {
  return h(
    "nav.bar",
    { "aria-label": label },
    h("span.seg", items.map(({ word, n, href, current }) => h("a", { href, "aria-current": current ? "true" : undefined }, word, n === undefined ? null : [" ", h("span.num.dim", n)]))),
  );
}

/** Limit: characters of one text that are shown; a browser takes long over more, and nobody reads them. */
const SHOWN = 200_000;

/** A text of a stranger, in a box of its own. */
export function textBox(text, label, content = said, classes = "code") {
  const more = text.length - SHOWN;
  const box = h(`pre.${classes.split(" ").join(".")}`, { tabindex: "0", "aria-label": label, role: "region" }, content(more > 0 ? text.slice(0, SHOWN) : text));
  if (more <= 0) return box;
  return [box, h("p.hint", `${more.toLocaleString("en-US")} more characters are not shown. `, copying("Copy all", text, "link"), " ", button("Save all", () => save(text, `${label}.txt`), "link"))];
}

/** Hands a text to the person as a file. */
export function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  h("a", { href: address, download: name.replace(/[^\w.-]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** JSON, laid out, with keys in colour. */
export function json(value, label, classes) {
  const text = typeof value === "string" ? value : write(value, 2) ?? "";
  return textBox(text, label, coloured, classes);
}

/** Limit: characters of JSON that are coloured; longer ones take too many elements. */
const COLOURED = 100_000;

export function coloured(text) {
  if (text.length > COLOURED) return said(text);
  return text.split(/("(?:[^"\\]|\\.)*"(?=\s*:))/).map((piece, i) => (i % 2 ? h("span.k", said(piece)) : said(piece)));
}

/** Small bars, one for each stretch of time: `[all, wrong]`. */
export function spark(stretches) {
  const most = Math.max(1, ...stretches.map(([all]) => all));
  const bar = ([all, wrong], i) => {
    const height = (n) => (n ? Math.max(1, Math.round((14 * n) / most)) : 0);
    const rect = (n, classes) => n > 0 && svg("rect", { class: classes, x: i * 5, y: 16 - height(n), width: 4, height: height(n) });
    return [rect(all, ""), rect(wrong, "x")];
  };
  return svg("svg.spark", { viewBox: "0 0 62 16", "aria-hidden": "true" }, svg("rect.bgd", { y: 15, width: 62, height: 1 }), stretches.map(bar));
}
