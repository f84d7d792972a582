// Adding a server and editing one: the form or JSON, how it will stand in the file, and the diff before an edit is saved.

import { Failure, ask, part, patch as change, post, put, remove } from "./api.js";
import { between, diffTable } from "./diff.js";
import { fill, h } from "./dom.js";
import { addCommand, inFile, inOrder, patchOf, tidy } from "./entry.js";
import { entryForm } from "./entry_form.js";
import { imports } from "./imports.js";
import { button, coloured, command, crumbs, empty, failed, go } from "./parts.js";
import { capital, count, said } from "./words.js";

/** What entries are shown with although nobody wrote it. */
const DEFAULTS = { enabled: true, quarantined: false, idle_timeout: ["adaptive", "never"], start: "on_demand", tool_changes: "hold", init_timeout: ["1m", "5m"], call_tool_timeout: "2m", session_scope: "auto", type: ["stdio", "http"], changed_by: "person" };

/** Seconds that a server may take to be listed. */
const INSPECT = 90;

/** An entry without its name and without defaults. */
function asWritten(entry) {
  const { name: _, ...rest } = entry;
  const isDefault = (key, value) => [DEFAULTS[key]].flat().includes(value) && key in DEFAULTS;
  return tidy(Object.fromEntries(Object.entries(rest).filter(([key, value]) => !isDefault(key, value))));
}

export function edit(name, frame) {
  const isNew = name === null;
  let before = {};
  let broken = null;
  let isDemo = false;
  let taken = [];
  let keys = [];
  // Names of secrets that are stored or referred to: a new one gets another.
  const takenSecrets = new Set();
  let file = "";
  let element = null;
  let form, area, preview, message, acts, review;
  let isJson = false;
  const found = isNew ? imports(frame) : null;

  async function load() {
    const [list, status] = await Promise.all([ask("servers"), ask("status"), knowSecrets(), found?.load()]);
    taken = list.servers.map((one) => one.name);
    file = status.config_file;
    if (isNew) return;
    const inspection = await ask(`servers/${part(name)}/inspect`);
    isDemo = inspection.server.demo !== undefined;
    if (!inspection.entry) broken = inspection.server;
    else before = asWritten(inspection.entry);
  }

  /** Which names of secrets are taken. A keyring that cannot be asked says so when something is stored in it. */
  async function knowSecrets() {
    try {
      for (const { name: known } of (await ask("secrets")).secrets) takenSecrets.add(known);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
    }
  }

  function made() {
    preview = h("pre.code", { tabindex: "0", role: "region", "aria-label": isNew ? "The new entry" : "The entry as it will be" });
    const same = h("div");
    message = h("div", { role: "status" });
    acts = h("div.acts");
    review = h("div.changes");
    const holder = h("div");
    const update = () => {
      const entry = isJson ? parsed() : tidy(form.read());
      form?.advise();
      fill(review);
      buttons();
      if (entry === undefined) {
        fill(same);
        return;
      }
      if (isJson) tellUnknown(entry);
      fill(preview, h(isNew ? "span.new" : "span", coloured(inFile(isJson && isNew ? "NAME" : form.name(), inOrder(before, entry)))));
      if (isNew) fill(same, h("p.bar.hint", "The same from a terminal"), command(addCommand(form.name(), isJson ? entry : { ...(form.read().url === "" ? { url: "" } : {}), ...entry })));
      else fill(same, h("p.hint", changedKeys(entry)));
    };
    const turn = () => {
      const entry = isJson ? parsed() : tidy(form.read());
      if (entry === undefined) return;
      const given = form.name();
      isJson = !isJson;
      if (isJson && !keys.length) knowKeys();
      show(entry, given);
    };
    const show = (entry, given) => {
      form = entryForm({ name: isNew ? null : name, entry: { ...entry, name: given }, taken: isNew ? taken : [], takenSecrets, changed: update });
      area = h("textarea.mono", { rows: 18, spellcheck: "false", "aria-label": "Entry as JSON" });
      area.value = JSON.stringify(inOrder(before, entry), null, 2);
      area.addEventListener("input", update);
      const nameAlone = isNew && isJson ? form.node.querySelector(".pair > .field") : null;
      fill(holder, isJson ? [nameAlone, h("div.field", area)] : form.node);
      toggle.textContent = isJson ? "Edit as form" : "Edit as JSON";
      update();
    };
    const toggle = button("Edit as JSON", turn, "end link");
    const node = h("form", { novalidate: true, "aria-labelledby": "form-h", on: { submit: (event) => { event.preventDefault(); submit(); } } }, h("h2.sr", { id: "form-h" }, "Entry"), holder, review, message, acts);
    show(before, name ?? "");
    return h("div.cols.half", { "data-kept": "" }, node, h("aside.rail", { "aria-labelledby": "pv-h" }, h("header.bar", h("h2", { id: "pv-h" }, "Preview"), toggle), preview, same));
  }

  function changedKeys(entry) {
    const keys = Object.keys(patchOf(before, entry));
    return keys.length ? `Changed: ${keys.join(", ")}. You see the difference before it is saved.` : "Nothing is changed yet.";
  }

  function buttons() {
    const verb = isNew ? "Add server" : "Show the change";
    fill(acts, h("button.btn.primary", { type: "submit" }, verb), isNew ? button("Try it first", () => submit(true), "btn", { title: "Adds it quarantined and starts it once to list its tools" }) : null, go("Cancel", isNew ? "/ui/" : `/ui/servers/${part(name)}`));
    fill(message);
  }

  const tell = (text) => fill(message, h("p.hint.bad", text));

  function parsed() {
    try {
      const value = JSON.parse(area.value);
      if (value !== null && typeof value === "object" && !Array.isArray(value)) {
        area.removeAttribute("aria-invalid");
        return value;
      }
      tell("An entry is a JSON object.");
    } catch (error) {
      tell(`This is no JSON: ${error.message}.`);
    }
    area.setAttribute("aria-invalid", "true");
    return undefined;
  }

  /** Which keys an entry has. What the daemon does not say here, it says when the entry is saved. */
  async function knowKeys() {
    try {
      const { $defs } = await ask("config/schema");
      keys = Object.keys($defs.server.properties);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
    }
  }

  /** Keys that no entry has, as they are written. */
  function tellUnknown(entry) {
    const unknown = keys.length ? Object.keys(entry).filter((key) => !keys.includes(key) && key !== "name") : [];
    if (unknown.length) tell(["No key of an entry: ", unknown.map((key, n) => [n ? ", " : "", h("code", said(key))]), "."]);
  }

  function submit(isTrial = false) {
    if (isJson && parsed() === undefined) return area.focus();
    const wrong = isJson ? (isNew ? form.check().filter((label) => label === "Name") : []) : form.check();
    if (wrong.length) return tell(`${count(wrong.length, "thing")} to correct: ${wrong.join(", ")}`);
    const entry = isJson ? parsed() : tidy(form.read());
    return isNew ? add(isTrial ? { ...entry, quarantined: true } : entry, isTrial) : showChange(entry);
  }

  /** Saves an entry: values that it refers to are there before it is, and are taken out again where it was refused. */
  async function withSecrets(save) {
    const stored = [];
    try {
      for (const { name: kept, value } of isJson ? [] : form.secrets()) {
        await put(`secrets/${part(kept)}`, { value, new: true });
        stored.push(kept);
      }
      await save();
    } catch (failure) {
      // Where no answer came the entry may yet be written, and refers to them.
      if (failure instanceof Failure && !failure.isGone) await takeOut(stored);
      // Somebody took a name meanwhile: the next attempt has another.
      await knowSecrets();
      throw failure;
    }
  }

  /** Takes secrets out again that nothing refers to. One that cannot be taken out stays: what matters to whoever saves is why that failed. */
  async function takeOut(names) {
    try {
      const { secrets } = names.length ? await ask("secrets") : { secrets: [] };
      for (const { name: known, used_by } of secrets) if (names.includes(known) && !used_by.length) await remove(`secrets/${part(known)}`);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
    }
  }

  /** To try it is to have it quarantined, started once for its lists, and shown in the review: nothing of it is called or offered. */
  async function add(entry, isTrial) {
    const wait = (text) => fill(acts, h("span.wait", { role: "status" }, text));
    wait("Adding…");
    const given = form.name();
    try {
      await withSecrets(() => post("servers", { name: given, ...entry }));
      if (isTrial) {
        wait("Starting it once to list its tools…");
        // What came of it stands in the review.
        await ask(`servers/${part(given)}/inspect?wait=${INSPECT}`, { method: "POST", patience: (INSPECT + 10) * 1000 }).catch(() => {});
      }
      frame.visit(entry.quarantined ? `/ui/review/${part(given)}` : `/ui/servers/${part(given)}`);
    } catch (failure) {
      refused(failure);
    }
  }

  /** The difference, and the question whether it is meant. */
  function showChange(entry) {
    const keys = patchOf(before, entry);
    if (!Object.keys(keys).length) return tell("Nothing is changed.");
    const text = (value) => JSON.stringify(value, null, 2);
    const save = button(`Save ${count(Object.keys(keys).length, "change")}`, () => store(keys), "btn primary");
    fill(review, h("section.sec", { "aria-labelledby": "ch-h" }, h("header", h("h2", { id: "ch-h" }, "The change"), h("p", `of ${name} in ${file}; what is shown as *** stays as it is`)), diffTable(between(text(before), text(inOrder(before, entry))), "Now", "After", "The entry before and after")));
    fill(acts, save, button("Back", () => { fill(review); buttons(); }));
    review.scrollIntoView({ block: "nearest" });
    save.focus();
  }

  async function store(keys) {
    fill(acts, h("span.wait", { role: "status" }, "Saving…"));
    try {
      await withSecrets(() => change(`servers/${part(name)}`, keys));
      frame.visit(`/ui/servers/${part(name)}`);
    } catch (failure) {
      refused(failure);
    }
  }

  function refused(failure) {
    if (!(failure instanceof Failure)) throw failure;
    // Names of secrets may be others now, and so the entry and its difference.
    if (!isJson && failure.code === "secret_exists") form.node.dispatchEvent(new Event("input"));
    fill(review);
    buttons();
    fill(message, failed(failure));
  }

  function render() {
    const title = isNew ? "Add a server" : `Edit ${name}`;
    const trail = isNew ? crumbs(["Servers", "/ui/"], "new") : crumbs(["Servers", "/ui/"], [said(name), `/ui/servers/${part(name)}`], "edit");
    const head = h("div.title", h("div", trail, h("h1", title), h("p.sub", isNew ? "The entry goes into " : "The entry stands in ", h("code", said(file)), "; comments and order stay as they are.")));
    if (isDemo) {
      const why = `The bundled demo server has no entry in ${file}, so there is nothing to edit. An entry of its name there takes its place.`;
      return [h("div.title", h("div", trail, h("h1", title))), empty("It stands in no file.", why, go("Back", `/ui/servers/${part(name)}`))];
    }
    if (broken) return [head, empty("The entry cannot be used, so it cannot be shown in a form.", [capital(broken.last_error ?? ""), ". ", capital(broken.next_step ?? "")], go("Back", `/ui/servers/${part(name)}`))];
    const body = element?.isConnected ? h("div.cols.half", { "data-kept": "" }) : (element ??= made());
    return [head, body, found?.render() ?? null];
  }

  return { title: isNew ? "Add a server" : `Edit ${name}`, tab: "servers", waiting: "Reading the entry…", load, render };
}
