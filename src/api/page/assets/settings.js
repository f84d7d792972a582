// Every setting: its value, its source and a field to change it.

import { Failure, ask, patch, post, undoChanges } from "./api.js";
import { doctor } from "./doctor.js";
import { h } from "./dom.js";
import { history } from "./history.js";
import { notifying } from "./notify.js";
import { acting, button, cell, empty, facts, failed, go, head, json, labelled, note, row, section, table, toast } from "./parts.js";
import { ELSEWHERE, GROUPS, SECRET } from "./setting_names.js";
import { bytes, capital, count, number, said, sentence, span } from "./words.js";

/** What was typed and is not saved: texts by key. It outlives a look at another place. */
const edits = new Map();

export function settings(query, frame) {
  let status, file, schema, unreadable, review;
  let filter = "";
  /** Which are shown: all, `own` for those that the file sets, `unsaved`. */
  let only = "";
  /** Fields are made anew when what was typed goes. */
  let resets = 0;
  const checkUp = doctor(frame);
  const past = history(frame, refresh);
  let isFile = false;
  const it = acting(frame);
  const mend = mending(it, () => anew());

  async function load() {
    await Promise.all([refresh(), past.load()]);
  }

  /** The same where fields have other values than what was typed. */
  const anew = () => { resets += 1; return load(); };

  async function refresh() {
    status = await ask("status");
    try {
      [file, schema] = await Promise.all([ask("config"), schema ?? ask("config/schema")]);
      unreadable = null;
    } catch (error) {
      // A file that cannot be used says nothing of itself; the daemon does.
      if (!(error instanceof Failure) || error.isSignedOut || error.isGone) throw error;
      [file, unreadable] = [null, error];
    }
  }

  function render() {
    return [
      h("div.title", h("div", h("h1", "Settings"), h("p.sub", "Every setting: its value, its source and a field to change it.")),
        h("div.acts", notifying(frame.paint),
          file ? button(isFile ? "Hide the file" : "Show the file", () => { isFile = !isFile; frame.paint(); }, "btn", { "aria-expanded": String(isFile) }) : null,
          go("JSON Schema", "/api/v1/config/schema"), go("Access", "/ui/access"))),
      isFile && file ? section("File", h("p", h("code", said(file.config_file)), "; comments left out, secrets masked"), json(file.settings, "The configuration file", "code short")) : null,
      // What the daemon says of a file that it did not load stands above.
      unreadable ? null : status.warnings.map((warning) => warned(warning, file, mend)),
      it.failure ? failed(it.failure) : null,
      file ? values() : status.config_error ? empty("You cannot change settings until you correct the file.", "mcpproxy uses the last good settings until then.") : failed(unreadable),
      past.render(),
      checkUp.render(),
      daemon(),
    ];
  }

  function values() {
    const rows = keysOf(schema, file.settings);
    // What is in force may be an option of `serve`, or of before a restart.
    const told = { listen: status.listen[0], routing_mode: status.routing_mode };
    for (const one of rows) {
      if (told[one.key] && told[one.key] !== (one.isSet ? one.value : one.default)) one.inForce = told[one.key];
    }
    const known = new Map(rows.map((one) => [one.key, one]));
    const named = new Set(GROUPS.flatMap(([, keys]) => keys.map(([key]) => key)));
    const groups = [...GROUPS, ["Others", rows.filter((one) => !named.has(one.key)).map((one) => [one.key, one.key])]];
    const words = filter.toLowerCase();
    const chosen = { own: (key) => known.get(key).isSet, unsaved: (key) => edits.has(key) }[only] ?? (() => true);
    const fits = ([key, name]) => known.has(key) && chosen(key) && (!words || `${key} ${name} ${known.get(key).meaning}`.toLowerCase().includes(words));
    const part = (which, word, n) => h("button", { type: "button", "aria-pressed": String(only === which), on: { click: () => { only = which; frame.paint(); } } }, word, n === undefined ? null : [" ", h("span.num.dim", number(n))]);
    const body = ([group, keys]) => {
      const shown = keys.filter(fits);
      if (!shown.length) return [];
      const heading = h("tr.group", { role: "row", "data-key": `group ${group}` }, h("th", { role: "cell", scope: "colgroup", colspan: "5" }, group));
      return [heading, ...shown.map(([key, name, how]) => line(known.get(key), name, how))];
    };
    const find = h("input.filter", { type: "search", "aria-label": "Find a setting", placeholder: "Find a setting, such as limit or listen", value: filter, on: { input: (event) => { filter = event.target.value; frame.paint(); } } });
    return h("form", { "aria-label": "Settings", on: { submit: (event) => { event.preventDefault(); save(); } } },
      h("div.bar", find, h("span.seg", { role: "group", "aria-label": "Which" }, part("", "All"), part("own", "In the file", rows.filter((one) => one.isSet).length), part("unsaved", "Unsaved", edits.size)), h("span.dim.small", "in ", h("code", said(file.config_file)), file.exists ? "" : ", which does not exist yet")),
      table("fold", [["Setting"], ["Value"], ["Default"], ["From"], ["Takes effect", "r"]], groups.map(body)),
      groups.some(([, keys]) => keys.some(fits)) ? null : h("div.empty", h("b", "No match."), h("p.acts", button("All settings", () => { [filter, only] = ["", ""]; frame.paint(); }))),
      unsaved());
  }

  function line(one, name, how) {
    const isEdited = edits.has(one.key);
    const before = one.isSet ? one.value : one.inForce ?? one.default ?? "";
    const was = isEdited ? h("span.lab", "was ", said(before === "" ? "not set" : inWords(one, before, how)), " ", button("Reset", () => { edits.delete(one.key); resets += 1; review = null; frame.paint(); }, "link", { "aria-label": `Reset ${name}` })) : null;
    const means = meaning(one, edits.get(one.key) ?? before, how);
    return row(one.key, [
      head("grow", name, name === one.key ? null : [" ", h("code.dim", one.key)], h("span.sub.block", sentence(one.meaning))),
      cell("set full", field(one, name, how), means ? h("span.unit", means) : null, was, one.inForce ? h("span.lab", "in use: ", h("code", said(one.inForce)), status.warnings.some(({ key }) => key === one.key) ? ", until a restart" : [", set by an option of ", h("code", "serve")]) : null),
      labelled("dim", "default", one.default === undefined ? "none" : said(inWords(one, one.default, how))),
      labelled("dim", "from", one.isSet ? "file" : "default"),
      cell("r dim hide", one.waits ? "after a restart" : "now"),
    ], { class: isEdited ? "edited" : undefined });
  }

  function field(one, name, how) {
    const value = edits.get(one.key) ?? one.value;
    const edit = (text) => {
      if (text === one.value || (!one.isSet && text === one.default)) edits.delete(one.key);
      else edits.set(one.key, text);
      review = null;
      frame.paint();
    };
    const about = { "aria-label": name, "data-key": `field ${one.key} ${resets}` };
    const { schema: of } = one;
    if (of.type === "boolean") {
      const isOn = (value || String(of.default)) === "true";
      return h("label.sw", h("input", { ...about, type: "checkbox", role: "switch", checked: isOn, on: { change: (event) => edit(String(event.target.checked)) } }));
    }
    const all = choicesOf(of);
    if (all) {
      const chosen = value || String(of.default ?? all[0]);
      return h("select", { ...about, on: { change: (event) => edit(event.target.value) } }, all.map((each) => h("option", { value: each, selected: each === chosen }, how?.[each] ?? each)));
    }
    if (SECRET.has(one.key)) return h("input.mono", { ...about, type: "password", autocomplete: "off", placeholder: one.isSet ? "set; type a new value" : "not set", value: edits.get(one.key) ?? "", on: { change: (event) => (event.target.value ? edit(event.target.value) : edit(one.value)) } });
    if (of.type === "object" || of.type === "array") about.placeholder = of.type === "object" ? '{"NAME": "value"}' : '["one", "another"]';
    const kind = of.type === "integer" ? { type: "number", min: of.minimum, max: of.maximum } : { type: "text", spellcheck: "false", autocomplete: "off" };
    return h(`input.mono${TIME.test(one.default) ? ".short" : ""}`, { placeholder: one.default === undefined ? "not set" : String(one.default), ...about, ...kind, value, on: { change: (event) => edit(event.target.value.trim()) } });
  }

  /** Saving shows the difference first; an empty field is a key that goes. */
  const changes = () => [...edits].map(([path, typed]) => (typed === "" ? { path, value: null } : { path, typed }));

  function unsaved() {
    if (!edits.size) return null;
    const value = (one) => (one === undefined ? h("span.dim", "–") : h("code", said(typeof one === "string" ? one : JSON.stringify(one))));
    const diff = review ? h("div.sec", h("h3", { id: "what-changes" }, `Changes to ${said(file.config_file).join("")}`), h("p.hint", "mcpproxy keeps comments and order."),
      table("fold", [["Setting"], ["From"], ["To"]], [review.changes.map((one) => row(`review ${one.path.join(".")}`, [head("grow mono", one.path.join(".")), cell("", value(one.before)), cell("", value(one.after))]))]),
      (review.warnings ?? []).map((warning) => note("warn", capital(warning.text)))) : null;
    const restart = review?.needs === "restart" ? h("span.soft", `. ${edits.size === 1 ? "It takes" : "They take"} full effect when the daemon restarts.`) : null;
    return [diff, h("div.decide", h("p", h("b", count(edits.size, "unsaved change")), restart),
      button("Discard", () => { edits.clear(); resets += 1; [review, it.failure] = [null, null]; frame.paint(); }),
      review ? null : button("Review", look, "btn"),
      h("button.btn.primary", { type: "submit" }, "Save"))];
  }

  /** What is wrong is in sight, and what was looked at is no longer what would come of it. */
  function told() {
    if (!it.failure) return;
    review = null;
    frame.paint();
    document.querySelector("main .note.err")?.scrollIntoView({ block: "center" });
  }

  const look = () => it.act("Checking…", async () => {
    review = await patch("config", { changes: changes(), dry_run: true });
  }).then(() => document.getElementById("what-changes")?.scrollIntoView({ block: "nearest" })).then(told);

  const save = () => edits.size && it.act("Saving…", async () => {
    const done = await patch("config", { changes: changes(), ...(review ? { seen: review.seen } : {}) });
    edits.clear();
    review = null;
    await anew();
    toast(`Saved ${count(done.changes.length, "change")}`, done.id ? () => undone(it, anew, done.id) : undefined);
  }).then(told);

  function daemon() {
    const { activity } = status;
    return section("Daemon", null, facts([
      ["Data folder", h("code", said(status.data_dir))],
      ["Clients connect to", status.url ? h("code", status.url) : "the local socket only"],
      ["Listens at", status.listen.length ? status.listen.map((one, i) => [i ? ", " : "", h("code", said(one))]) : "the local socket only"],
      ["Access", status.access ? said(status.access) : "every client on this machine may use every tool"],
      ["Rate limit", status.rate_limit ? said(status.rate_limit) : "none"],
      ["Lock file", status.lock_file ? h("code", said(status.lock_file)) : "none"],
      ["Log", status.log_file ? h("code", said(status.log_file)) : "the daemon’s stderr"],
      ["Version", `${status.version}, process ${status.pid}, up ${span(status.uptime_seconds)}`],
      ["Client sessions", `${number(status.sessions)} open`],
      ["Running calls", number(status.in_flight ?? 0)],
      ["Memory", status.memory_bytes === undefined ? undefined : `${bytes(status.memory_bytes)}, without the servers`],
      ["Activity log", activity ? `${count(activity.records ?? 0, "record")}, ${bytes(activity.size_bytes ?? 0)}${activity.not_kept ? `, ${number(activity.not_kept)} not recorded` : ""}` : undefined],
      ["This page", button("Log out", logOut, "link")],
    ]));
  }

  async function logOut() {
    await post("ui/logout");
    frame.soon();
  }

  return { title: "Settings", tab: "settings", filters: [], waiting: "Reading the settings…", load, refresh, render, navigate: () => {} };
}

/** Changes the file where a warning asks for it; `load` reads what is so then. */
export const mending = (it, load) => (changes) => it.act("Saving…", async () => {
  const { id } = await patch("config", { changes });
  await load();
  toast("Saved", id ? () => undone(it, load, id) : undefined);
});

const undone = (it, load, id) => it.act("Undoing…", () => undoChanges([id]).then(() => load()));

/** A warning. A key that is unknown can be renamed or removed here. `file` is what the daemon says of the configuration. */
export function warned({ server, key, unknown, closest: meant, text }, file, mend, ...more) {
  const isOfFile = unknown && server === undefined;
  const path = isOfFile ? key.split(".") : [];
  const at = (names) => names.reduce((of, name) => of?.[name], file?.settings);
  const value = isOfFile ? at(path) : undefined;
  const words = server === undefined ? capital(text) : ["Server ", said(server), ": ", sentence(text)];
  if (value === undefined) return note("warn", words, file && !file.exists ? go("Add a server", "/ui/add", "btn small") : null, more);
  const right = meant ? [...path.slice(0, -1), meant] : null;
  const isPlain = typeof value !== "object" && PLAIN.test(String(value));
  return note("warn", words,
    right && isPlain && at(right) === undefined ? button(["Rename to ", h("code", said(meant))], () => mend([{ path, value: null }, { path: right, value }]), "btn small") : null,
    button("Remove", () => mend([{ path, value: null }]), "btn small", { "aria-label": `Remove ${key}` }), more);
}

/** Values that are shown whole: masked ones cannot be written again. */
const PLAIN = /^[\w:./-]{1,60}$/;

/** A stretch of time as the file has it. */
const TIME = /^(\d+)(h|m|s)$/;

/** A value as people say it: a switch, a choice, a time or a number with its unit. */
function inWords(one, value, how) {
  if (one.schema.type === "boolean") return String(value) === "true" ? "on" : "off";
  const means = meaning(one, value, how);
  if (how?.[value] ?? (means && one.schema.type !== "integer")) return how?.[value] ?? means;
  return means ? `${number(Number(value))} ${means}` : String(value);
}

/** What a field's value means beside what is typed there: its unit, or a time in the unit that people count it in. */
function meaning(one, value, how) {
  if (one.schema.type === "integer") return how?.[value] ?? how?.unit;
  const [, n, unit] = TIME.exec(value) ?? [];
  if (!unit) return undefined;
  if (n === "0") return "never";
  const seconds = n * { h: 3600, m: 60, s: 1 }[unit];
  const [size, word] = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([each]) => seconds % each === 0);
  return count(seconds / size, word);
}

/** The values of a choice, however the schema lists them. */
function choicesOf(of) {
  if (Array.isArray(of.enum)) return of.enum;
  const each = (of.oneOf ?? of.anyOf ?? []).flatMap((one) => one.enum ?? (one.const === undefined ? [null] : [one.const]));
  return each.length && each.every((one) => typeof one === "string") ? each : null;
}

/** The keys of the schema, those of objects with their path, and what the file says of each. */
function keysOf(schema, settings, path = "", rows = []) {
  for (const [key, of] of Object.entries(schema.properties ?? {})) {
    const name = path ? `${path}.${key}` : key;
    if (ELSEWHERE.has(name)) continue;
    const value = settings?.[key];
    if (of.properties && !of.default && of.type === "object") {
      keysOf(of, value, name, rows);
      continue;
    }
    const isSet = value !== undefined && value !== null;
    const written = (one) => (one === undefined ? undefined : typeof one === "string" ? one : JSON.stringify(one));
    const meaning = of.description ?? "";
    rows.push({ key: name, schema: of, isSet, value: isSet ? written(value) : "", default: written(of.default), meaning, waits: of["x-after-restart"] === true });
  }
  return rows;
}
